"""A shop's agent with Mistral's client, which records its calls. The only telemetry code names the conversation."""

import json
import os
import uuid

from mistralai.client import Mistral
from opentelemetry import trace

MODEL = os.environ.get("MODEL", "mistral-small-latest")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> str:
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


def get_weather(city: str) -> str:
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]},
        },
    }
    for name, description, key in (
        ("get_order", "The state of an order, by its number.", "order_id"),
        ("get_weather", "The weather in a city.", "city"),
    )
]
FUNCTIONS = {"get_order": get_order, "get_weather": get_weather}
client = Mistral(api_key=os.environ["MISTRAL_API_KEY"], server_url=os.environ.get("MISTRAL_BASE_URL"))


def answer(messages: list) -> str:
    while True:
        message = client.chat.complete(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = FUNCTIONS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": result})


tracer = trace.get_tracer("shop")
conversation = {"session.id": str(uuid.uuid4())}
messages = [{"role": "system", "content": "You answer in a friendly tone."}]
for question in QUESTIONS:
    messages.append({"role": "user", "content": question})
    with tracer.start_as_current_span("turn", attributes=conversation):
        print(answer(messages))
