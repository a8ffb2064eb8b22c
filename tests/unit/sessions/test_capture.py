"""A turn without words names the switch of the instrumentation that sent it."""

from __future__ import annotations

import json

import pytest

from app.otlp.decode import decode
from app.sessions.build import build_session
from app.sessions.capture import front_matter_advice
from tests.support.exports import export, span


def warnings_of(*scopes: str) -> tuple[str, ...]:
    spans = [
        stored for number, scope in enumerate(scopes, 1) for stored in decode(export(silent(number), scope=scope)).spans
    ]
    (turn,) = build_session([spans])
    return turn.warnings


def silent(number: int) -> dict[str, object]:
    start, end = 10**18 + 1000 * number, 10**18 + 1000 * number + 1
    attributes = {"service.prompt.id": 7, "gen_ai.operation.name": "chat", "gen_ai.request.model": f"model {number}"}
    return span(attributes, spanId=f"{number:016x}", startTimeUnixNano=str(start), endTimeUnixNano=str(end))


@pytest.mark.parametrize(
    ("scope", "switch"),
    [
        ("gcp.vertex.agent", "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental"),
        ("gcp.vertex.agent", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("opentelemetry.instrumentation.openai_v2", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("opentelemetry.instrumentation.genai.openai", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("opentelemetry.util.genai.handler", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("opentelemetry.instrumentation.openai.v1", "TRACELOOP_TRACE_CONTENT=true"),
        ("opentelemetry.instrumentation.langchain", "TRACELOOP_TRACE_CONTENT=true"),
        ("@traceloop/instrumentation-openai", "TRACELOOP_TRACE_CONTENT=true"),
        ("openinference.instrumentation.openai", "OPENINFERENCE_HIDE_INPUTS"),
        ("@arizeai/openinference-instrumentation-openai", "OPENINFERENCE_HIDE_OUTPUTS"),
        ("ai", "experimental_telemetry"),
        ("gen_ai", "recordInputs: true"),
        (
            "semantic_kernel.utils.telemetry.model_diagnostics.decorators",
            "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true",
        ),
        ("semantic_kernel.utils.telemetry", "instrument the model's client"),
        ("com.anthropic.sdk.python", "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content"),
        ("agent_framework", "ENABLE_SENSITIVE_DATA=true"),
        ("Experimental.Microsoft.Extensions.AI", "EnableSensitiveData"),
        ("pydantic-ai", "include_content=True"),
        ("goose", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"),
    ],
)
def test_the_switch_of_the_scope_is_named(scope: str, switch: str) -> None:
    (warning,) = warnings_of(scope)
    assert warning.startswith("No message content was recorded: ")
    assert switch in warning
    assert f"({scope})" in warning


@pytest.mark.parametrize("scope", ["", "airline", "my-agent", "goose-farm"])
def test_an_unknown_scope_gets_the_advice_to_turn_content_capture_on(scope: str) -> None:
    assert warnings_of(scope) == ("No message content was recorded: turn on content capture in the instrumentation.",)


def test_the_switches_of_several_instrumentations_are_named_each_once() -> None:
    (warning,) = warnings_of("gcp.vertex.agent", "agent_framework", "gcp.vertex.agent", "unknown")
    assert warning.count("SPAN_ONLY") == warning.count("ENABLE_SENSITIVE_DATA") == 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_settings_of_a_prompts_file_in_the_instruction_are_named(end: str) -> None:
    file = "---\nprompt: 17\nmodel: gpt-5-mini\n---\nYou help customers.\n".replace("\n", end)

    assert "prompt_text(path)" in (front_matter_advice(file) or "")


@pytest.mark.parametrize(
    "instruction",
    [None, "", "You help.", "---\ntitle: Rules\n---\nYou help.", "---\nprompt: 17\n", "You\n---\nprompt: 1\n---\n"],
)
def test_other_instructions_are_not(instruction: str | None) -> None:
    assert front_matter_advice(instruction) is None


def test_a_turn_warns_of_the_settings_of_a_prompts_file() -> None:
    file = "---\nprompt: 17\nbase: 1\n---\nYou help customers.\n"
    messages = [{"role": "system", "content": file}, {"role": "user", "content": "Hello"}]
    attributes = {"gen_ai.input.messages": json.dumps(messages)} | {"gen_ai.operation.name": "chat"}
    spans = decode(export(span(attributes | {"service.prompt.id": 7, "gen_ai.request.model": "m"}))).spans

    (turn,) = build_session([spans])

    assert any("promptText(path)" in warning for warning in turn.warnings), turn
