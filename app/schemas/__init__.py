"""Marshmallow schemas, one file per noun: JSON to dataclass, dataclass to JSON."""
