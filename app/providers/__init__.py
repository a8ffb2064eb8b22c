"""The call of a model: one port over all vendors, each in its own wire format."""
