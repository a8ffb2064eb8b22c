"""What models accept in a configuration."""

from typing import Any

import pytest

from app.chat import ToolDefinition
from app.errors import Invalid
from app.providers import accepted, catalogue
from app.providers.types import ModelConfig, ModelRef
from tests.fakes.models import MODELS, VENDORS


def check(vendor: str, name: str | None = None, details: dict[str, Any] | None = None, **config: Any) -> None:
    model = ModelRef(vendor, name or MODELS[vendor])  # type: ignore[arg-type]
    accepted.check(model, details or {}, ModelConfig(**{"max_tokens": 8000} | config))


def tool(name: str, strict: bool | None = None) -> ToolDefinition:
    return ToolDefinition(name, strict=strict)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_plain_configuration_is_accepted(vendor: str) -> None:
    check(vendor, temperature=0.5, stop=("END", "\n\n\nEND"), tools=(tool("look", True), tool("wait", True)))


@pytest.mark.parametrize(
    ("vendor", "config", "key"),
    [
        ("ANTHROPIC", {"seed": 1}, "seed"),
        ("DEEPSEEK", {"seed": 1}, "seed"),
        ("GOOGLE", {"seed": 2**31}, "seed"),
        ("GOOGLE", {"seed": -(2**31) - 1}, "seed"),
        ("OPENAI", {"stop": tuple("abcde")}, "stop"),
        ("GOOGLE", {"stop": tuple("abcdef")}, "stop"),
        ("ANTHROPIC", {"stop": ("END", " \n")}, "stop.1"),
        ("OPENAI", {"tools": (tool("a"), tool("a.b"))}, "tools.1.name"),
        ("OPENAI", {"tools": (tool("a" * 65),)}, "tools.0.name"),
        ("ANTHROPIC", {"tools": (tool("a/b"),)}, "tools.0.name"),
        ("DEEPSEEK", {"tools": (tool("a:b"),)}, "tools.0.name"),
        ("GOOGLE", {"tools": (tool("a/b"),)}, "tools.0.name"),
        ("GOOGLE", {"tools": (tool("a"), tool("b", True))}, "tools.1.strict"),
        ("GOOGLE", {"tools": (tool("a"),), "response_format": "json_object"}, "response_format"),
        ("GOOGLE", {"reasoning_effort": "none", "name": "gemini-2.5-pro"}, "reasoning_effort"),
        ("DEEPSEEK", {"reasoning_effort": "minimal"}, "reasoning_effort"),
        ("ANTHROPIC", {"reasoning_effort": "low", "max_tokens": 2047}, "max_tokens"),
        ("ANTHROPIC", {"reasoning_effort": "low", "temperature": 0.2}, "temperature"),
        ("ANTHROPIC", {"reasoning_effort": "low", "top_p": 0.9}, "top_p"),
    ],
)
def test_what_no_request_can_have_is_refused_by_its_key(vendor: str, config: dict[str, Any], key: str) -> None:
    with pytest.raises(Invalid, match=rf"^languageModelConfig\.{key}: "):
        check(vendor, **config)


@pytest.mark.parametrize(
    ("vendor", "config"),
    [
        ("OPENAI", {"seed": 2**63 - 1, "stop": tuple("abcd"), "tools": (tool("a"), tool("b", True))}),
        ("GOOGLE", {"seed": 2**31 - 1, "stop": tuple("abcde"), "tools": (tool("a.b:c-d"),)}),
        ("GOOGLE", {"tools": (tool("a"),), "response_format": "json_object", "name": "gemini-3.8-flash"}),
        ("GOOGLE", {"tools": (tool("a"),), "response_format": "json_object", "name": "gemini-flash-latest"}),
        ("ANTHROPIC", {"reasoning_effort": "low", "top_p": 0.95, "temperature": 1}),
        ("ANTHROPIC", {"reasoning_effort": "none", "temperature": 0.2}),
        ("CUSTOM_OPENAI_COMPATIBLE", {"tools": (tool("a.b/c"),), "stop": tuple("abcdefgh"), "seed": 7}),
    ],
)
def test_what_the_vendor_documents_is_accepted(vendor: str, config: dict[str, Any]) -> None:
    check(vendor, **config)


@pytest.mark.parametrize(
    ("details", "config", "key"),
    [
        ({"refuses": ["top_p"]}, {"top_p": 1.0}, "top_p"),
        ({"refuses": ["stop"]}, {"stop": ("a",)}, "stop"),
        ({"refuses": ["seed"]}, {"seed": 0}, "seed"),
        ({"refuses": ["temperature with top_p"]}, {"temperature": 0.2, "top_p": 0.9}, "top_p"),
        ({"refuses": ["top_p with reasoning"]}, {"top_p": 0.9}, "top_p"),
        ({"capabilities": ["tools"]}, {"reasoning_effort": "low"}, "reasoning_effort"),
        ({"efforts": ["low", "high"]}, {"reasoning_effort": "none"}, "reasoning_effort"),
    ],
)
def test_what_the_model_refuses_is_refused_by_its_key(
    details: dict[str, Any], config: dict[str, Any], key: str
) -> None:
    with pytest.raises(Invalid, match=rf"^languageModelConfig\.{key}: "):
        check("OPENAI", details=details, **config)
    check("OPENAI", **config)


@pytest.mark.parametrize("config", [{"temperature": 0.2}, {"top_p": 0.9}, {}])
def test_one_of_temperature_and_top_p_is_accepted(config: dict[str, Any]) -> None:
    check("ANTHROPIC", details={"refuses": ["temperature with top_p"]}, **config)


def test_top_p_is_accepted_by_a_model_that_does_not_reason() -> None:
    check("OPENAI", details={"refuses": ["top_p with reasoning"]}, top_p=0.9, reasoning_effort="none")


def test_builtin_models_accept_any_configuration() -> None:
    accepted.check(ModelRef("BUILTIN", "echo"), {}, ModelConfig(seed=1, reasoning_effort="low"))


def test_every_effort_of_a_shipped_model_can_be_sent() -> None:
    for entry in catalogue.load().values():
        for effort in entry.efforts:
            check(entry.vendor, entry.name, reasoning_effort=effort)
