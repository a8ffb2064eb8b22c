"""A shop's agent of Semantic Kernel. Its only telemetry code names the conversation."""

import asyncio
import json
import os
import uuid

from openai import AsyncOpenAI
from opentelemetry import trace
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


class Shop:
    @kernel_function(description="The state of an order, by its number.")
    def get_order(self, order_id: str) -> str:
        return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})

    @kernel_function(description="The weather that a parcel travels through, by city.")
    def get_weather(self, city: str) -> str:
        return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


async def main():
    agent = ChatCompletionAgent(
        name="support",
        service=OpenAIChatCompletion(ai_model_id=MODEL, async_client=AsyncOpenAI()),
        instructions="Answer in a friendly tone.",
        plugins=[Shop()],
    )
    thread = None
    tracer = trace.get_tracer("shop")
    conversation = {"session.id": str(uuid.uuid4())}
    for question in QUESTIONS:
        with tracer.start_as_current_span("turn", attributes=conversation):
            response = await agent.get_response(messages=question, thread=thread)
        thread = response.thread
        print(response)


asyncio.run(main())
