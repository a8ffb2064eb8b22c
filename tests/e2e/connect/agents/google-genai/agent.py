"""A shop's agent with Google's client, which runs the tools itself, recorded by OpenInference."""

import os
import uuid

from google import genai
from google.genai import types
from opentelemetry import trace

QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> dict:
    """The state of an order, by its number."""
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


def get_weather(city: str) -> dict:
    """The weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


client = genai.Client(http_options=types.HttpOptions(base_url=os.environ.get("GOOGLE_GEMINI_BASE_URL")))
config = types.GenerateContentConfig(
    system_instruction="You answer in a friendly tone.", tools=[get_order, get_weather]
)
chat = client.chats.create(model=os.environ.get("MODEL", "gemini-2.5-flash"), config=config)
tracer = trace.get_tracer("shop")
conversation = {"session.id": str(uuid.uuid4())}
for question in QUESTIONS:
    with tracer.start_as_current_span("turn", attributes=conversation):
        print(chat.send_message(question).text)
