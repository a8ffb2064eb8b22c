"""Marshmallow schemas, one file per noun. They load JSON into dataclasses and dump dataclasses as JSON."""
