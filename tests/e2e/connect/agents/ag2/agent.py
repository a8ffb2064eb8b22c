"""A shop's agent on AG2, which its middleware records. The only telemetry code names the conversation."""

import asyncio
import json
import os
import uuid

from ag2 import Agent
from ag2.config import OpenAIConfig
from ag2.middleware import TelemetryMiddleware
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
        "support",
        prompt="You answer in a friendly tone.",
        config=OpenAIConfig(model=os.environ.get("MODEL", "gpt-4o-mini")),
        tools=[get_order, get_weather],
        middleware=[TelemetryMiddleware(agent_name="support", capture_content=True)],
    )
    tracer = trace.get_tracer("shop")
    conversation = {"session.id": str(uuid.uuid4())}
    reply = None
    for question in QUESTIONS:
        with tracer.start_as_current_span("turn", attributes=conversation):
            reply = await (reply.ask(question) if reply else agent.ask(question))
        print(reply.body)


asyncio.run(main())
