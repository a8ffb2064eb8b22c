"""A shop's agent on LiveKit, which is written to instead of spoken to."""

import asyncio
import json
import os
import uuid

from livekit.agents import Agent, AgentSession, function_tool
from livekit.agents.telemetry import set_tracer_provider
from livekit.plugins import openai
from opentelemetry import trace

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


class Support(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You answer in a friendly tone.")

    @function_tool
    async def get_order(self, order_id: str) -> str:
        """The state of an order, by its number."""
        return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})

    @function_tool
    async def get_weather(self, city: str) -> str:
        """The weather in a city."""
        return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


async def main() -> None:
    set_tracer_provider(trace.get_tracer_provider(), metadata={"session.id": str(uuid.uuid4())})
    async with AgentSession(llm=openai.LLM(model=os.environ.get("MODEL", "gpt-4o-mini"))) as session:
        await session.start(Support())
        for question in QUESTIONS:
            result = await session.run(user_input=question)
            print(result.events[-1].item.text_content)


asyncio.run(main())
