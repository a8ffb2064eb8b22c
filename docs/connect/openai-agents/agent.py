"""A shop's agent of the OpenAI Agents SDK. It has no telemetry code: the group is the conversation."""

import os
import uuid

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


@function_tool
def get_order(order_id: str) -> dict:
    """The state of an order, by its number."""
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


@function_tool
def get_weather(city: str) -> dict:
    """The weather that a parcel travels through, by city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


agent = Agent(name="support", model=MODEL, instructions="Answer in a friendly tone.", tools=[get_order, get_weather])
session = SQLiteSession(str(uuid.uuid4()))
for question in QUESTIONS:
    group = RunConfig(group_id=session.session_id)
    print(Runner.run_sync(agent, question, session=session, run_config=group).final_output)
