"""OpenAI's Responses, whole or streamed, with the conversation kept by the vendor."""

import json
import sys

from openai import OpenAI

TOOL = {
    "type": "function",
    "name": "find",
    "parameters": {"type": "object", "properties": {"order": {}}},
    "strict": False,
}
client, previous = OpenAI(), None
for line in sys.stdin:
    sent = {"model": "gpt-4o-mini", "instructions": "Help.", "input": json.loads(line)["user"], "tools": [TOOL]}
    if "streamed" in sys.argv:
        with client.responses.stream(**sent, previous_response_id=previous) as stream:
            response = stream.get_final_response()
    else:
        response = client.responses.create(**sent, previous_response_id=previous)
    previous = response.id
    assert [item.type for item in response.output] == ["message"], "a tool was called"
    print(json.dumps({"text": response.output_text}), flush=True)
