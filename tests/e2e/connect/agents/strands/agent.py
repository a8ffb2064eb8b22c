"""A shop's agent on Strands. Strands records it by itself."""

import json
import os
import uuid

from strands import Agent, tool
from strands.models.openai import OpenAIModel

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


@tool
def get_order(order_id: str) -> str:
    """The state of an order, by its number."""
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


agent = Agent(
    model=OpenAIModel(model_id=os.environ.get("MODEL", "gpt-4o-mini")),
    tools=[get_order, get_weather],
    system_prompt="You answer in a friendly tone.",
    trace_attributes={"session.id": str(uuid.uuid4())},
    callback_handler=None,
)
for question in QUESTIONS:
    print(agent(question))
