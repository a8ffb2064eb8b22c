"""A prompt as one readable file: front matter in YAML, then the text, byte for byte. Pure."""
