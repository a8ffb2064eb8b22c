"""A shop's agent of Google's ADK. It has no telemetry code: the session is the conversation."""

import asyncio
import os

from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.genai import types

MODEL = os.environ.get("MODEL", "gemini-2.5-flash")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> dict:
    """The state of an order, by its number."""
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


def get_weather(city: str) -> dict:
    """The weather that a parcel travels through, by city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


async def main():
    agent = Agent(name="support", model=MODEL, instruction="Answer in a friendly tone.", tools=[get_order, get_weather])
    runner = InMemoryRunner(agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="ada")
    for question in QUESTIONS:
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=message):
            if event.is_final_response():
                print(event.content.parts[0].text)


asyncio.run(main())
