"""Real servers and processes for tests and benchmarks; imports nothing of the app."""
