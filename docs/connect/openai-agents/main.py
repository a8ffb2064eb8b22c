"""An agent of the OpenAI Agents SDK, recorded by OpenTelemetry's two instrumentations: of the agents, of the client."""

import os
import uuid

# Read when the instrumentations are imported; without it nothing of what was said is recorded.
os.environ.setdefault("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")

import reprise
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]


@function_tool
def get_order(order_id: str) -> dict:
    """The state of an order, by its number."""
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


@function_tool
def get_weather(city: str) -> dict:
    """The weather that a parcel travels through, by city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


def main():
    provider = reprise.connect()
    OpenAIInstrumentor().instrument()
    # Without this the SDK also sends every trace to OpenAI's dashboard.
    OpenAIAgentsInstrumentor().instrument(disable_openai_trace_export=True)
    prompt = reprise.render({"tone": "formal"})
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=AsyncOpenAI())
    agent = Agent(name="support", model=model, instructions=prompt["instruction"], tools=[get_order, get_weather])
    conversation_id = str(uuid.uuid4())
    history = []
    for question in QUESTIONS:
        with reprise.turn(prompt, conversation_id):
            result = Runner.run_sync(agent, [*history, {"role": "user", "content": question}])
        history = result.to_input_list()
        print(result.final_output)
    provider.shutdown()


main()
