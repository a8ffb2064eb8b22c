"""A shop's crew of one. It says nothing of telemetry."""

import json
import os

from crewai import Agent, Crew, Task
from crewai.tools import tool

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


@tool
def get_order(order_id: str) -> str:
    """The state of an order, by its number."""
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


@tool
def get_weather(city: str) -> str:
    """The weather that a parcel travels through, by city."""
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


support = Agent(
    role="support",
    goal="Answer the customers of a shop.",
    backstory="You answer in a friendly tone.",
    llm=f"openai/{MODEL}",
    tools=[get_order, get_weather],
)
crew = Crew(agents=[support], tasks=[Task(description="{question}", expected_output="An answer.", agent=support)])
for question in QUESTIONS:
    print(crew.kickoff({"question": question}).raw)
