"""A small agent that needs no model key and no package: it sends its conversation to Reprise and shows what arrived.

    make run                                       # in one terminal
    python3 examples/weather_agent.py Oslo Rome    # in another: each word is what the user says in one turn

Its model is a toy that behaves like Reprise's builtin `demo-agent`, so a test case made of the session passes.
An agent of yours would use an OpenTelemetry SDK instead of `span` and `send`: see docs/connect.
"""

import json
import os
import secrets
import shlex
import sys
import time
import urllib.request
from pathlib import Path

DEV_ENV = Path(os.environ.get("REPRISE_HOME") or Path(__file__).parents[1] / "var") / "dev.env"
NAME = "Example: weather agent"
WEATHER = {"Oslo": "4 °C and rain", "Rome": "21 °C and sun"}
TOOL = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
PROMPT = {
    "name": NAME,
    "value": "# Role\nYou tell the weather, in a {{tone}} tone.\n",
    "languageModelName": "demo-agent",
    "languageModelConfig": {"tools": [TOOL]},
    "placeholders": [
        {
            "key": "tone",
            "values": [
                {"name": "friendly", "content": "friendly", "isDefault": True},
                {"name": "formal", "content": "formal"},
            ],
        }
    ],
}


def setting(name):
    """From the environment, else from what `make run` wrote."""
    lines = shlex.split(DEV_ENV.read_text()) if DEV_ENV.exists() else []
    written = dict(line.split("=", 1) for line in lines)
    try:
        return os.environ.get(name) or written[name]
    except KeyError:
        sys.exit(f"{name} is not set and not in {DEV_ENV}: is Reprise running (make run)?")


BASE_URL, API_KEY = setting("BASE_URL"), setting("API_KEY")


def call(method, path, body=None):
    headers = {"Authorization": f"Bearer {API_KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{BASE_URL}{path}", data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def prompt_id():
    """The example's prompt, made when it is run for the first time."""
    known = call("GET", "/api/v1/prompts")["prompts"]
    found = next((prompt for prompt in known if prompt["name"] == NAME), None)
    return (found or call("POST", "/api/v1/prompts", PROMPT)["prompt"])["id"]


def get_weather(city):
    return f"{city}: {WEATHER.get(city, '12 °C and clouds')}."


def model(messages):
    """The toy: calls the tool with the user's words, then answers with what the tool returned."""
    last = messages[-1]["parts"][0]
    if last["type"] == "tool_call_response":
        return {"type": "text", "content": last["response"]}
    arguments = {"city": last["content"]}
    return {"type": "tool_call", "id": f"call_{secrets.token_hex(4)}", "name": TOOL["name"], "arguments": arguments}


class Turn:
    """One trace: spans that share an id and the attributes that every span needs."""

    def __init__(self, shared):
        self.shared, self.spans = shared, []
        self.trace_id, self.root_id, self.started = secrets.token_hex(16), secrets.token_hex(8), time.time_ns()

    def span(self, name, started, attributes, span_id=None):
        """Add a span that ends now; all are children of the turn's own."""
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
        self.spans.append(
            {
                "traceId": self.trace_id,
                "spanId": span_id or secrets.token_hex(8),
                "parentSpanId": "" if span_id else self.root_id,
                "name": name,
                "startTimeUnixNano": str(started),
                "endTimeUnixNano": str(time.time_ns()),
                "attributes": [
                    {"key": key, "value": {"stringValue": value}} for key, value in (self.shared | texts).items()
                ],
            }
        )

    def chat(self, messages):
        started, part = time.time_ns(), model(messages)
        said = {"role": "assistant", "parts": [part]}
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "toy",
            "gen_ai.request.model": "toy",
            "gen_ai.input.messages": messages,
            "gen_ai.output.messages": [said],
            "gen_ai.tool.definitions": [TOOL],
        }
        self.span("chat toy", started, attributes)
        messages.append(said)
        return part

    def execute(self, asked):
        started, result = time.time_ns(), get_weather(**asked["arguments"])
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": asked["name"],
            "gen_ai.tool.call.id": asked["id"],
            "gen_ai.tool.call.arguments": asked["arguments"],
            "gen_ai.tool.call.result": json.dumps(result),
        }
        self.span(f"execute_tool {asked['name']}", started, attributes)
        return {"type": "tool_call_response", "id": asked["id"], "response": result}

    def send(self):
        self.span("turn", self.started, {}, self.root_id)
        batch = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "weather_agent"}, "spans": self.spans}]}]}
        answer = call("POST", "/api/public/otel/v1/traces", batch)
        if answer["partialSuccess"]:
            sys.exit(f"Spans were rejected: {answer['partialSuccess']['errorMessage']}")


def answer_turn(turn, messages):
    """Ask the model and do what it asks for until it answers."""
    while (part := turn.chat(messages))["type"] == "tool_call":
        messages.append({"role": "tool", "parts": [turn.execute(part)]})
    return part["content"]


def main():
    prompt = prompt_id()
    rendered = call("POST", f"/api/v1/prompts/{prompt}/render", {"placeholders": {"tone": "formal"}})
    shared = {
        "service.prompt.id": str(prompt),
        "service.prompt.version": rendered["commitHash"],
        "service.prompt.placeholders": json.dumps(rendered["placeholders"]["resolved"]),
        "gen_ai.conversation.id": secrets.token_hex(8),
    }
    messages = [{"role": "system", "parts": [{"type": "text", "content": rendered["instruction"]}]}]
    for said in sys.argv[1:] or ["Oslo", "Rome"]:
        messages.append({"role": "user", "parts": [{"type": "text", "content": said}]})
        turn = Turn(shared)
        print(f"user   {said}\nagent  {answer_turn(turn, messages)}")
        turn.send()
    session = call("GET", f"/api/v1/prompts/{prompt}/logs?type=otel&limit=1")["entries"][0]
    project = call("GET", f"/api/v1/prompts/{prompt}")["projectId"]
    print(f"\nA session of {session['turns']} turns: {BASE_URL}/projects/{project}/sessions/{session['id']}")


if __name__ == "__main__":
    main()
