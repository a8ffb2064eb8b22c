"""A shop's crew of one. Its only telemetry code names the conversation."""

import json
import os
import uuid

from crewai import Agent, Crew, Task
from crewai.tools import tool
from opentelemetry import trace

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
tracer = trace.get_tracer("shop")
conversation = {"session.id": str(uuid.uuid4())}
for question in QUESTIONS:
    with tracer.start_as_current_span("turn", attributes=conversation):
        print(crew.kickoff({"question": question}).raw)
