"""An agent on the OpenAI client: model calls recorded by OpenInference's instrumentation, tools by its decorator."""

import json
import os
import uuid

import reprise
from openai import OpenAI
from openinference.instrumentation import OITracer, TraceConfig
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry import trace

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]

provider = reprise.connect()
OpenAIInstrumentor().instrument()
tracer = OITracer(trace.get_tracer("shop"), TraceConfig())
client = OpenAI()


@tracer.tool
def get_order(order_id: str) -> dict:
    """The state of an order, by its number."""
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


@tracer.tool
def get_weather(city: str) -> dict:
    """The weather that a parcel travels through, by city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


TOOLS = {"get_order": get_order, "get_weather": get_weather}


def call_tool(call):
    result = TOOLS[call.function.name](**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)}


def answer_turn(messages, tools):
    """Call the model and its tools until it answers; adds to `messages`."""
    while True:
        completion = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        messages += [call_tool(call) for call in message.tool_calls]


def main():
    prompt = reprise.render({"tone": "formal"})
    tools = [{"type": "function", "function": tool} for tool in prompt["languageModelConfig"]["tools"]]
    conversation_id = str(uuid.uuid4())
    messages = [{"role": "system", "content": prompt["instruction"]}]
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        with reprise.turn(prompt, conversation_id):
            print(answer_turn(messages, tools))
    provider.shutdown()


main()
