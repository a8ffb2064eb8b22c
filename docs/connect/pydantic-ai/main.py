"""A pydantic-ai agent, recorded by its own instrumentation."""

import os
import uuid

import reprise
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> dict:
    """The state of an order, by its number."""
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


def get_weather(city: str) -> dict:
    """The weather that a parcel travels through, by city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


def main():
    provider = reprise.connect()
    Agent.instrument_all(InstrumentationSettings())
    prompt = reprise.render({"tone": "formal"})
    agent = Agent(OpenAIChatModel(MODEL), instructions=prompt["instruction"], tools=[get_order, get_weather])
    conversation_id = str(uuid.uuid4())
    history = []
    for question in QUESTIONS:
        with reprise.turn(prompt, conversation_id):
            result = agent.run_sync(question, message_history=history, conversation_id=conversation_id)
        history = result.all_messages()
        print(result.output)
    provider.shutdown()


main()
