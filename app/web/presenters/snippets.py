"""Snippets that send traces and run a prompt. They have this instance's address, and read the key from a variable."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

AGENT = "my-agent"
"""The name in the address to which the snippets send an agent's traces."""


@dataclass(frozen=True, slots=True)
class Snippet:
    title: str
    text: str
    code: str


def snippets(base_url: str, prompt_id: int, model_name: str | None = None) -> list[Snippet]:
    """Return the snippets of a prompt. Their runs use `model_name` instead of the prompt's model, if it is given."""
    run, agent = f"{base_url}/api/v1/prompts/run", f"{base_url}/api/public/agents/{AGENT}/otel"
    asked: dict[str, Any] = {"id": prompt_id, "question": "What can you do?", "productive": False}
    if model_name:
        asked["languageModelName"] = model_name
    return [
        Snippet("Trace your agent", f"Replace {AGENT} by a name. The prompt gets it, too.", _variables(agent)),
        Snippet(
            "Send a trace by hand",
            "One turn with an instruction, a question and an answer. Each call makes a new trace.",
            _trace(f"{agent}/v1/traces"),
        ),
        Snippet("Run a prompt with curl", "Answers with the model's text, its tokens and its cost.", _curl(run, asked)),
        Snippet("Run a prompt from Python", "Needs nothing but the standard library.", _python(run, asked)),
        Snippet("Run a prompt from JavaScript", "For Node 18 or newer.", _javascript(run, asked)),
        Snippet(
            "Send the traces of one prompt",
            "For an agent that has its text from this prompt.",
            _variables(f"{base_url}/api/public/prompts/{prompt_id}/otel"),
        ),
    ]


def _curl(url: str, asked: dict[str, Any]) -> str:
    body = json.dumps(asked)
    return (
        f"curl {url} \\\n"
        '  -H "Authorization: Bearer $API_KEY" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d '{body}'"
    )


def _python(url: str, asked: dict[str, Any]) -> str:
    body = json.dumps(asked).replace(": false", ": False")
    return f"""import json, os, urllib.request

request = urllib.request.Request(
    "{url}",
    data=json.dumps({body}).encode(),
    headers={{"Authorization": "Bearer " + os.environ["API_KEY"], "Content-Type": "application/json"}},
)
with urllib.request.urlopen(request) as answer:
    print(json.load(answer)["answer"])"""


def _javascript(url: str, asked: dict[str, Any]) -> str:
    body = ", ".join(f"{name}: {json.dumps(value)}" for name, value in asked.items())
    return f"""const answer = await fetch("{url}", {{
  method: "POST",
  headers: {{ Authorization: `Bearer ${{process.env.API_KEY}}`, "Content-Type": "application/json" }},
  body: JSON.stringify({{ {body} }}),
}});
console.log((await answer.json()).answer);"""


def _variables(endpoint: str) -> str:
    return (
        f"export OTEL_EXPORTER_OTLP_ENDPOINT={endpoint}\n"
        "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n"
        'export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer $API_KEY"\n'
        "export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
    )


def _trace(url: str) -> str:
    def message(role: str, text: str) -> str:
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "echo",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "You are a friendly assistant."}]),
        "gen_ai.input.messages": message("user", "Are you there?"),
        "gen_ai.output.messages": message("assistant", "Yes, and this turn can become a test case."),
    }
    span = {
        "traceId": "TRACE",
        "spanId": "SPAN",
        "name": "chat echo",
        "startTimeUnixNano": "START",
        "endTimeUnixNano": "END",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, indent=1)
    # A here-document: quotes in the body stay unchanged, and the shell fills in ids and times.
    filled = body.replace("\\", "\\\\").replace("TRACE", _random(16)).replace("SPAN", _random(8))
    filled = filled.replace("START", "$(date +%s)000000000").replace("END", "$(date +%s)900000000")
    return (
        f"curl {url} \\\n"
        '  -H "Authorization: Bearer $API_KEY" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d @- <<JSON\n{filled}\nJSON"
    )


def _random(size: int) -> str:
    """Return what the shell replaces by so many random bytes in hexadecimal digits."""
    return rf"$(od -An -N{size} -tx1 /dev/urandom | tr -d ' \n')"
