"""Values and the rules of text, without framework, clock, randomness or settings."""
