"""The switches by which instrumentations record the content of messages, by the names of their scopes."""

from __future__ import annotations

from collections.abc import Iterable

_OPENTELEMETRY = (
    "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
)
_LOG_RECORDS = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, and export logs"
_OPENLLMETRY = "set TRACELOOP_TRACE_CONTENT=true"
_OPENINFERENCE = "remove OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and other OPENINFERENCE_HIDE_… variables"

# The first that fits: a scope that is, or begins with, one of the names.
SWITCHES: tuple[tuple[str, str], ...] = (
    ("gcp.vertex.agent", _OPENTELEMETRY),
    ("opentelemetry.instrumentation.genai.", _OPENTELEMETRY),
    ("opentelemetry.util.genai", _OPENTELEMETRY),
    ("opentelemetry.instrumentation.openai_v2", _OPENTELEMETRY),
    ("opentelemetry.instrumentation.google_genai", _OPENTELEMETRY),
    ("opentelemetry.instrumentation.botocore", _LOG_RECORDS),
    ("@opentelemetry/instrumentation-openai", _LOG_RECORDS),
    ("opentelemetry.instrumentation.", _OPENLLMETRY),
    ("@traceloop/", _OPENLLMETRY),
    ("openinference.instrumentation.", _OPENINFERENCE),
    ("@arizeai/openinference-", _OPENINFERENCE),
    # It logs the messages to the model; its spans only have arguments and results of functions.
    (
        "semantic_kernel.",
        "set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true "
        "and instrument the model's client",
    ),
    (
        "Microsoft.SemanticKernel",
        "set the AppContext switch Microsoft.SemanticKernel.Experimental.GenAI.EnableOTelDiagnosticsSensitive",
    ),
    (
        "Experimental.Microsoft.",
        "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, or EnableSensitiveData in UseOpenTelemetry",
    ),
    (
        "com.anthropic.claude_code",
        "set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1, OTEL_LOG_TOOL_CONTENT=1, OTEL_LOG_ASSISTANT_RESPONSES=1 "
        "and OTEL_LOGS_EXPORTER=otlp",
    ),
    ("com.anthropic.sdk.", "set ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content"),
    ("codex_otel", "set log_user_prompt = true in [otel] of Codex's config.toml"),
    ("goose", "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"),
    ("agent_framework", "set ENABLE_SENSITIVE_DATA=true"),
    ("pydantic-ai", "use InstrumentationSettings(include_content=True)"),
    ("ai", "give the call experimental_telemetry with recordInputs: true and recordOutputs: true"),
    ("gen_ai", "give the call telemetry with recordInputs: true and recordOutputs: true"),
)
# Scopes that are one word are no beginnings of others.
_WHOLE = frozenset({"ai", "gen_ai", "goose"})
_NAMED_MAX = 3
_FRONT_MATTER_CHARACTERS = 64 * 1024
_OF_PROMPT_FILES = ("prompt: ", "base: ")


def capture_advice(scopes: Iterable[str]) -> str:
    """Return advice, as the end of a sentence, on recording message contents in spans of these scopes."""
    known = {_switch_of(scope): scope for scope in sorted(set(scopes), reverse=True)}
    switches = [f"{switch} ({scope})" for switch, scope in sorted(known.items()) if switch]
    return "; ".join(switches[:_NAMED_MAX]) or "turn on content capture in the instrumentation"


def _switch_of(scope: str) -> str:
    """Return the switch of a scope, "" for one that is not known."""
    fits = (switch for name, switch in SWITCHES if scope == name or (name not in _WHOLE and scope.startswith(name)))
    return next(fits, "")


def front_matter_advice(instruction: str | None) -> str | None:
    """Return a warning if an instruction begins with the settings of a prompt's file; None if it does not."""
    opening, _, rest = (instruction or "")[:_FRONT_MATTER_CHARACTERS].replace("\r\n", "\n").partition("\n")
    settings, closing, _ = rest.partition("\n---\n")
    if opening != "---" or not closing or not any(line.startswith(_OF_PROMPT_FILES) for line in settings.split("\n")):
        return None
    return (
        "The model got the settings at the beginning of a prompt's file: read the file with prompt_text(path) of "
        "reprise_client, or promptText(path) in JavaScript."
    )
