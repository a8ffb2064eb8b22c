"""An agent of pydantic-ai. Each tool has a span; results are messages of role user."""

import common
import reprise
from pydantic_ai import Agent, Tool
from pydantic_ai.models.instrumented import InstrumentationSettings


def tool(name, schema):
    def run(**arguments):
        try:
            return common.run_tool(name, arguments)
        except common.ToolFailed as failed:
            return f"Error: {failed}"

    return Tool.from_schema(run, name=name, description=name, json_schema=schema)


provider = reprise.connect()
Agent.instrument_all(InstrumentationSettings())
tools = [tool(name, schema) for name, schema in common.SCHEMAS.items()]
agent = Agent(f"openai-chat:{common.MODEL}", instructions=common.SCRIPT["instruction"], tools=tools)
history = []
for user in common.turns():
    history = agent.run_sync(user, message_history=history).all_messages()
provider.shutdown()
