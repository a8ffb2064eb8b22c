"""An agent on the OpenAI client. Only model calls are recorded: no tool has a span."""

import json
import os

import common
import reprise
from openai import OpenAI

provider = reprise.connect()
if os.environ["RECORDED_BY"] == "openinference":
    from openinference.instrumentation.openai import OpenAIInstrumentor
else:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor
OpenAIInstrumentor().instrument()
client = OpenAI()


def answered(call):
    try:
        content = json.dumps(
            common.run_tool(call.function.name, json.loads(call.function.arguments)), ensure_ascii=False
        )
    except common.ToolFailed as failed:
        content = f"Error: {failed}"
    return {"role": "tool", "tool_call_id": call.id, "content": content}


tools = [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in common.SCHEMAS.items()]
messages = [{"role": "system", "content": common.SCRIPT["instruction"]}]
for user in common.turns():
    messages.append({"role": "user", "content": user})
    while True:
        message = client.chat.completions.create(model=common.MODEL, messages=messages, tools=tools).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        messages += [answered(call) for call in message.tool_calls]
provider.shutdown()
