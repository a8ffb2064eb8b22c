"""A shop's agent on DSPy, recorded by OpenInference. Its only telemetry code names the conversation."""

import json
import os
import uuid

import dspy
from opentelemetry import trace

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> str:
    """The state of an order, by its number."""
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


def get_weather(city: str) -> str:
    """The weather in a city."""
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


model = os.environ.get("MODEL", "gpt-4o-mini")
dspy.configure(lm=dspy.LM(f"openai/{model}", api_base=os.environ.get("OPENAI_BASE_URL"), cache=False))
agent = dspy.ReAct("question -> answer", tools=[get_order, get_weather])
tracer = trace.get_tracer("shop")
conversation = {"session.id": str(uuid.uuid4())}
for question in QUESTIONS:
    with tracer.start_as_current_span("turn", attributes=conversation):
        print(agent(question=question).answer)
