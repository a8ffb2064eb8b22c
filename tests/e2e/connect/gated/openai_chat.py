"""The loop of an agent around OpenAI's client, whole or streamed."""

import json
import sys

from openai import OpenAI

TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {"order": {}}}}}
client, messages = OpenAI(), [{"role": "system", "content": "Help."}]


def ask() -> dict:
    sent = {"model": "gpt-4o-mini", "messages": messages, "tools": [TOOL]}
    if "streamed" not in sys.argv:
        return client.chat.completions.create(**sent).choices[0].message.model_dump(exclude_none=True)
    with client.chat.completions.stream(**sent) as stream:
        return stream.get_final_completion().choices[0].message.model_dump(exclude_none=True)


for line in sys.stdin:
    messages.append({"role": "user", "content": json.loads(line)["user"]})
    messages.append(ask())
    assert not messages[-1].get("tool_calls"), "a tool was called"
    print(json.dumps({"text": messages[-1]["content"]}), flush=True)
