"""What people call the vendors of models."""

from __future__ import annotations

VENDORS = {
    "ANTHROPIC": "Anthropic",
    "BUILTIN": "Built in",
    "CUSTOM_OPENAI_COMPATIBLE": "OpenAI-compatible endpoints",
    "DEEPSEEK": "DeepSeek",
    "GOOGLE": "Google",
    "OPENAI": "OpenAI",
}


def with_vendor(model: str, vendor: str) -> str:
    """A model's name and its vendor's."""
    return f"{model}, {VENDORS.get(vendor, vendor)}"
