"""The model call: OpenAI's format over HTTP, other vendors through any-llm, the builtin models, and the catalogue."""
