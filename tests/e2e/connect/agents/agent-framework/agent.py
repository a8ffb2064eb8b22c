"""A shop's agent on Agent Framework, which records itself. The only telemetry code names the conversation."""

import asyncio
import json
import os
import uuid

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from opentelemetry import trace

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> str:
    """The state of an order, by its number."""
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


def get_weather(city: str) -> str:
    """The weather in a city."""
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


async def main() -> None:
    agent = Agent(
        client=OpenAIChatCompletionClient(model=os.environ.get("MODEL", "gpt-4o-mini")),
        instructions="You answer in a friendly tone.",
        tools=[get_order, get_weather],
    )
    session = agent.create_session()
    tracer = trace.get_tracer("shop")
    conversation = {"session.id": str(uuid.uuid4())}
    for question in QUESTIONS:
        with tracer.start_as_current_span("turn", attributes=conversation):
            print((await agent.run(question, session=session)).text)


asyncio.run(main())
