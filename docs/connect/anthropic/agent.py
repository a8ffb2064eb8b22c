"""A shop's agent on Anthropic's client. Its only telemetry code marks turns and names the conversation."""

import json
import os
import uuid

from anthropic import Anthropic
from opentelemetry import trace

MODEL = os.environ.get("MODEL", "claude-sonnet-5")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id):
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


def get_weather(city):
    return {"city": city, "celsius": 4, "sky": "rain"}


def definition(name, parameter):
    schema = {"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}
    return {"name": name, "input_schema": schema}


TOOLS = {"get_order": get_order, "get_weather": get_weather}
DEFINITIONS = [definition("get_order", "order_id"), definition("get_weather", "city")]
client = Anthropic()


def call_tool(call):
    result = TOOLS[call.name](**call.input)
    return {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(result)}


def answer_turn(messages):
    """Call the model and its tools until it answers; adds to `messages`."""
    while True:
        answer = client.messages.create(
            model=MODEL, max_tokens=1000, system="Answer in a friendly tone.", messages=messages, tools=DEFINITIONS
        )
        messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return answer.content[-1].text
        messages.append({"role": "user", "content": [call_tool(call) for call in calls]})


tracer = trace.get_tracer("shop")
conversation = {"session.id": str(uuid.uuid4())}
messages = []
for question in QUESTIONS:
    messages.append({"role": "user", "content": question})
    with tracer.start_as_current_span("turn", attributes=conversation):
        print(answer_turn(messages))
