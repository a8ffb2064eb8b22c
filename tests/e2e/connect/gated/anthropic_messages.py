"""Anthropic's client, whole or streamed."""

import json
import sys

from anthropic import Anthropic

TOOL = {"name": "find", "input_schema": {"type": "object", "properties": {"order": {"type": "string"}}}}
client, messages = Anthropic(), []
for line in sys.stdin:
    messages.append({"role": "user", "content": json.loads(line)["user"]})
    sent = {"model": "claude-haiku-4-5", "max_tokens": 500, "system": "Help.", "messages": messages, "tools": [TOOL]}
    if "streamed" in sys.argv:
        with client.messages.stream(**sent) as stream:
            message = stream.get_final_message()
    else:
        message = client.messages.create(**sent)
    assert message.stop_reason == "end_turn", "a tool was called"
    messages.append({"role": "assistant", "content": message.content})
    print(json.dumps({"text": message.content[0].text}), flush=True)
