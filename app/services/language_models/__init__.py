"""Language models and vendors' credentials."""
