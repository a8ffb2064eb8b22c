"""Requests to the fake upstream, the same for every vendor, for tests of the providers."""

from app.chat import Message, ToolDefinition
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest

KEY = "sk-very-secret"
MODELS = {
    "OPENAI": "gpt-4o-mini",
    "ANTHROPIC": "claude-haiku-4-5",
    "GOOGLE": "gemini-2.5-flash",
    "DEEPSEEK": "deepseek-flash",
    "CUSTOM_OPENAI_COMPATIBLE": "llama3",
}
VENDORS = tuple(MODELS)
WEATHER = ToolDefinition(
    "weather",
    "Today's weather",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def request(upstream, vendor, *messages, model=None, timeout_s=120.0, **config):
    """Ask `vendor`'s model on `upstream`; without messages, "Say hello." with the instruction "Be brief."."""
    said = messages or (Message("system", "Be brief."), Message("user", "Say hello."))
    credential = Credential(KEY, upstream.base_url(vendor))
    ref = ModelRef(vendor, model or MODELS[vendor])
    return ModelRequest(ref, ModelConfig(**config), said, credential, timeout_s)
