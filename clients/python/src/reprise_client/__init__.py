"""The Python client of Reprise."""

__version__ = "0.1.0"
