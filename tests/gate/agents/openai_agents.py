"""An agent of the OpenAI Agents SDK. Each tool has a span."""

import json
import os

os.environ.setdefault("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")

import common
import reprise
from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner
from openai import AsyncOpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor


def tool(name, schema):
    async def invoke(context, arguments):
        try:
            return common.run_tool(name, json.loads(arguments))
        except common.ToolFailed as failed:
            return f"Error: {failed}"

    return FunctionTool(name=name, description=name, params_json_schema=schema, on_invoke_tool=invoke)


provider = reprise.connect()
OpenAIInstrumentor().instrument()
OpenAIAgentsInstrumentor().instrument(disable_openai_trace_export=True)
model = OpenAIChatCompletionsModel(model=common.MODEL, openai_client=AsyncOpenAI())
tools = [tool(name, schema) for name, schema in common.SCHEMAS.items()]
agent = Agent(name="agent", model=model, instructions=common.SCRIPT["instruction"], tools=tools)
history = []
for user in common.turns():
    result = Runner.run_sync(agent, [*history, {"role": "user", "content": user}])
    history = result.to_input_list()
provider.shutdown()
