"""JSON Schema, checked within a budget of steps. Pure."""
