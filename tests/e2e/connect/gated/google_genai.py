"""Google's client, whole or streamed, which would call the function itself."""

import json
import sys

from google import genai
from google.genai import types


def find(order: str) -> str:
    """Find an order."""
    raise SystemExit("a tool was called")


client = genai.Client()
chat = client.chats.create(
    model="gemini-2.5-flash", config=types.GenerateContentConfig(system_instruction="Help.", tools=[find])
)
for line in sys.stdin:
    user = json.loads(line)["user"]
    if "streamed" in sys.argv:
        text = "".join(chunk.text or "" for chunk in chat.send_message_stream(user))
    else:
        text = chat.send_message(user).text
    print(json.dumps({"text": text}), flush=True)
