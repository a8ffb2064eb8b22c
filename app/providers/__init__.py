"""The model call: the vendors through any-llm, the builtin models, and the catalogue of what they cost."""
