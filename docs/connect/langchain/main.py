"""A LangChain agent, recorded by OpenTelemetry's instrumentation of LangChain."""

import os
import uuid

# Read when the instrumentation is imported; without it no message contents are recorded.
os.environ.setdefault("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")

import reprise
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor

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
    LangChainInstrumentor().instrument()
    prompt = reprise.render({"tone": "formal"})
    agent = create_agent(ChatOpenAI(model=MODEL), [get_order, get_weather], system_prompt=prompt["instruction"])
    conversation_id = str(uuid.uuid4())
    messages = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        with reprise.turn(prompt, conversation_id):
            messages = agent.invoke({"messages": messages})["messages"]
        print(messages[-1].text)
    provider.shutdown()


main()
