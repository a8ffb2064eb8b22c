"""A shop's agent of LlamaIndex. Its only telemetry code names the conversation."""

import asyncio
import os
import uuid

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory
from llama_index.llms.openai import OpenAI
from opentelemetry import trace

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> dict:
    """The state of an order, by its number."""
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


def get_weather(city: str) -> dict:
    """The weather that a parcel travels through, by city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


async def main():
    options = {"stream_options": {"include_usage": True}}
    model = OpenAI(model=MODEL, api_base=os.environ.get("OPENAI_BASE_URL"), additional_kwargs=options)
    agent = FunctionAgent(tools=[get_order, get_weather], llm=model, system_prompt="Answer in a friendly tone.")
    memory = Memory.from_defaults()
    tracer = trace.get_tracer("shop")
    conversation = {"session.id": str(uuid.uuid4())}
    for question in QUESTIONS:
        with tracer.start_as_current_span("turn", attributes=conversation):
            print(await agent.run(question, memory=memory))


asyncio.run(main())
