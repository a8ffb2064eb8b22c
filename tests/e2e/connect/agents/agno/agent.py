"""A shop's agent on Agno, recorded by OpenInference."""

import json
import os
import uuid

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> str:
    """The state of an order, by its number."""
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


def get_weather(city: str) -> str:
    """The weather in a city."""
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


agent = Agent(
    name="support",
    model=OpenAIChat(id=os.environ.get("MODEL", "gpt-4o-mini")),
    tools=[get_order, get_weather],
    instructions="You answer in a friendly tone.",
    db=InMemoryDb(),
    session_id=str(uuid.uuid4()),
    add_history_to_context=True,
    telemetry=False,
)
for question in QUESTIONS:
    print(agent.run(question).content)
