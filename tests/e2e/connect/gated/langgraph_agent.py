"""A graph of LangGraph with the model of LangChain."""

import json
import sys

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import MemorySaver
from langgraph.prebuilt import create_react_agent


def find(order: str) -> str:
    """Find an order."""
    raise SystemExit("a tool was called")


graph = create_react_agent(ChatOpenAI(model="gpt-4o-mini"), [find], prompt="Help.", checkpointer=MemorySaver())
for line in sys.stdin:
    asked = {"messages": [("user", json.loads(line)["user"])]}
    result = graph.invoke(asked, {"configurable": {"thread_id": "one"}})
    print(json.dumps({"text": result["messages"][-1].content}), flush=True)
