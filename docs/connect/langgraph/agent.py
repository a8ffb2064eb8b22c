"""A shop's agent on LangGraph. It has no telemetry code: the thread is the conversation."""

import os
import uuid

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


def get_order(order_id: str) -> dict:
    """The state of an order, by its number."""
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


def get_weather(city: str) -> dict:
    """The weather that a parcel travels through, by city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


agent = create_agent(
    ChatOpenAI(model=MODEL),
    [get_order, get_weather],
    system_prompt="Answer in a friendly tone.",
    checkpointer=InMemorySaver(),
)
thread = {"configurable": {"thread_id": str(uuid.uuid4())}}
for question in QUESTIONS:
    state = agent.invoke({"messages": [{"role": "user", "content": question}]}, thread)
    print(state["messages"][-1].text)
