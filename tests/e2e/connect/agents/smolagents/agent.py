"""A shop's agent on smolagents, recorded by OpenInference. Its only telemetry code names the conversation."""

import json
import os
import uuid

from opentelemetry import trace
from smolagents import OpenAIModel, ToolCallingAgent, tool

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


@tool
def get_order(order_id: str) -> str:
    """The state of an order, by its number.

    Args:
        order_id: The number.
    """
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


@tool
def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: The name of the city.
    """
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


model = OpenAIModel(
    model_id=os.environ.get("MODEL", "gpt-4o-mini"),
    api_base=os.environ.get("OPENAI_BASE_URL"),
    api_key=os.environ["OPENAI_API_KEY"],
)
agent = ToolCallingAgent(tools=[get_order, get_weather], model=model, verbosity_level=0)
tracer = trace.get_tracer("shop")
conversation = {"session.id": str(uuid.uuid4())}
for question in QUESTIONS:
    with tracer.start_as_current_span("turn", attributes=conversation):
        print(agent.run(question, reset=False))
