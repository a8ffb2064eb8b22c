"""A shop's agent on Haystack, recorded by OpenInference. Its only telemetry code names the conversation."""

import json
import os
import uuid
from typing import Annotated

from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from opentelemetry import trace

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


@tool
def get_order(order_id: Annotated[str, "the number"]) -> str:
    """The state of an order, by its number."""
    return json.dumps({"order_id": order_id, "state": "shipped", "city": "Oslo"})


@tool
def get_weather(city: Annotated[str, "the name"]) -> str:
    """The weather in a city."""
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


agent = Agent(
    chat_generator=OpenAIChatGenerator(
        model=os.environ.get("MODEL", "gpt-4o-mini"), api_base_url=os.environ.get("OPENAI_BASE_URL")
    ),
    tools=[get_order, get_weather],
    system_prompt="You answer in a friendly tone.",
)
pipeline = Pipeline()
pipeline.add_component("agent", agent)
tracer = trace.get_tracer("shop")
conversation = {"session.id": str(uuid.uuid4())}
messages = []
for question in QUESTIONS:
    messages.append(ChatMessage.from_user(question))
    with tracer.start_as_current_span("turn", attributes=conversation):
        said = pipeline.run({"agent": {"messages": messages}})["agent"]["messages"]
    messages = [message for message in said if not message.is_from("system")]
    print(messages[-1].text)
