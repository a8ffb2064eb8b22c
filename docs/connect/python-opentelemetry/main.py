"""An agent on the OpenAI client that creates its spans by hand, with only OpenTelemetry."""

import json
import os
import uuid

import reprise
from openai import OpenAI
from opentelemetry import trace

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
QUESTIONS = ["Where is order 1042?", "What is the weather there?"]

client = OpenAI()
tracer = trace.get_tracer("shop")


def get_order(order_id):
    return {"order_id": order_id, "state": "shipped", "city": "Oslo"}


def get_weather(city):
    return {"city": city, "celsius": 4, "sky": "rain"}


TOOLS = {"get_order": get_order, "get_weather": get_weather}


def parts(message):
    """A message of the chat API in the form of the GenAI conventions."""
    if message["role"] == "tool":
        result = json.loads(message["content"])
        return [{"type": "tool_call_response", "id": message["tool_call_id"], "response": result}]
    text = [{"type": "text", "content": message["content"]}] if message.get("content") else []
    called = [
        {
            "type": "tool_call",
            "id": call["id"],
            "name": call["function"]["name"],
            "arguments": json.loads(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or []
    ]
    return text + called


def recorded(messages):
    return json.dumps([{"role": message["role"], "parts": parts(message)} for message in messages])


def chat(messages, offered):
    with tracer.start_as_current_span(f"chat {MODEL}", kind=trace.SpanKind.CLIENT) as span:
        span.set_attributes(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": MODEL,
                "gen_ai.input.messages": recorded(messages),
                "gen_ai.tool.definitions": json.dumps(offered),
            }
        )
        tools = [{"type": "function", "function": tool} for tool in offered]
        completion = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        answer = completion.choices[0].message.model_dump(exclude_none=True)
        span.set_attributes(
            {
                "gen_ai.output.messages": recorded([answer]),
                "gen_ai.usage.input_tokens": completion.usage.prompt_tokens,
                "gen_ai.usage.output_tokens": completion.usage.completion_tokens,
            }
        )
        return answer


def call_tool(call):
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    with tracer.start_as_current_span(f"execute_tool {name}") as span:
        span.set_attributes(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": call["id"],
                "gen_ai.tool.call.arguments": arguments,
            }
        )
        result = json.dumps(TOOLS[name](**json.loads(arguments)))
        span.set_attribute("gen_ai.tool.call.result", result)
        return {"role": "tool", "tool_call_id": call["id"], "content": result}


def answer_turn(messages, offered):
    """Call the model and its tools until it answers; adds to `messages`."""
    while True:
        message = chat(messages, offered)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        messages += [call_tool(call) for call in message["tool_calls"]]


def main():
    provider = reprise.connect()
    prompt = reprise.render({"tone": "formal"})
    conversation_id = str(uuid.uuid4())
    messages = [{"role": "system", "content": prompt["instruction"]}]
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        with reprise.turn(prompt, conversation_id):
            print(answer_turn(messages, prompt["languageModelConfig"]["tools"]))
    provider.shutdown()


main()
