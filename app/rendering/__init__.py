"""From a prompt's text to the instruction that a model receives: placeholders, then the format. Pure."""
