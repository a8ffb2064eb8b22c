"""A shop's agent of AutoGen. Its only telemetry code names the conversation."""

import asyncio
import json
import os
import uuid

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from opentelemetry import trace

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


async def get_order(order_id: str) -> str:
    """The state of an order, by its number."""
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


async def get_weather(city: str) -> str:
    """The weather that a parcel travels through, by city."""
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


async def main():
    agent = AssistantAgent(
        name="support",
        model_client=OpenAIChatCompletionClient(model=MODEL),
        tools=[get_order, get_weather],
        system_message="Answer in a friendly tone.",
        max_tool_iterations=5,
    )
    tracer = trace.get_tracer("shop")
    conversation = {"session.id": str(uuid.uuid4())}
    for question in QUESTIONS:
        with tracer.start_as_current_span("turn", attributes=conversation):
            result = await agent.run(task=question)
        print(result.messages[-1].content)


asyncio.run(main())
