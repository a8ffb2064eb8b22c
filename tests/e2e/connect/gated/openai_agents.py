"""The OpenAI Agents SDK, which would call the function itself."""

import json
import sys

from agents import Agent, Runner, SQLiteSession, function_tool


@function_tool
def find(order: str) -> str:
    """Find an order."""
    raise SystemExit("a tool was called")


agent = Agent(name="support", model="gpt-4o-mini", instructions="Help.", tools=[find])
session = SQLiteSession("one")
for line in sys.stdin:
    result = Runner.run_sync(agent, json.loads(line)["user"], session=session)
    print(json.dumps({"text": result.final_output}), flush=True)
