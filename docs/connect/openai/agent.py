"""A shop's agent on OpenAI's client. Its only telemetry code marks turns and names the conversation."""

import json
import os
import uuid

from openai import OpenAI
from opentelemetry import trace

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id):
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


def get_weather(city):
    return {"city": city, "celsius": 4, "sky": "rain"}


def definition(name, parameter):
    schema = {"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = {"get_order": get_order, "get_weather": get_weather}
DEFINITIONS = [definition("get_order", "order_id"), definition("get_weather", "city")]
client = OpenAI()


def call_tool(call):
    result = TOOLS[call.function.name](**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)}


def answer_turn(messages):
    """Call the model and its tools until it answers; adds to `messages`."""
    while True:
        completion = client.chat.completions.create(model=MODEL, messages=messages, tools=DEFINITIONS)
        message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        messages += [call_tool(call) for call in message.tool_calls]


tracer = trace.get_tracer("shop")
conversation = {"session.id": str(uuid.uuid4())}
messages = [{"role": "system", "content": "Answer in a friendly tone."}]
for question in QUESTIONS:
    messages.append({"role": "user", "content": question})
    with tracer.start_as_current_span("turn", attributes=conversation):
        print(answer_turn(messages))
