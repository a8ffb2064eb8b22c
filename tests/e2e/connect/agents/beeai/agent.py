"""A shop's agent on BeeAI, recorded by OpenInference. Its only telemetry code names the conversation."""

import asyncio
import json
import os
import uuid

from beeai_framework.agents.requirement import RequirementAgent
from beeai_framework.backend import ChatModel
from beeai_framework.memory import UnconstrainedMemory
from beeai_framework.tools import tool
from opentelemetry import trace

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


@tool
def get_order(order_id: str) -> str:
    """The state of an order, by its number."""
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


async def main() -> None:
    agent = RequirementAgent(
        llm=ChatModel.from_name("openai:" + os.environ.get("MODEL", "gpt-4o-mini")),
        tools=[get_order, get_weather],
        memory=UnconstrainedMemory(),
        instructions="You answer in a friendly tone.",
    )
    tracer = trace.get_tracer("shop")
    conversation = {"session.id": str(uuid.uuid4())}
    for question in QUESTIONS:
        with tracer.start_as_current_span("turn", attributes=conversation):
            print((await agent.run(question)).last_message.text)


asyncio.run(main())
