"""A small agent that holds a turn for each line of its input: what the user asks. Run by tests, which kill it."""

from __future__ import annotations

import sys

from reprise_client.instrumentation import conversation, instrument, tool, turn


@tool
def get_order(order_id: str) -> dict[str, str]:
    return {"order_id": order_id, "state": "shipped"}


def main(prompt_id: int) -> None:
    instrument(prompt=prompt_id)
    for question in map(str.strip, sys.stdin):
        with conversation("c-1", user="u-1"), turn(question) as this:
            order = get_order(question)
            this.answer(f"Order {question} is {order['state']}.")
        print(question, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
