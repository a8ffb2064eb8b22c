// A small agent that holds a turn for each line of its input: what the user asks. Run by tests, which kill it.

import { createInterface } from "node:readline";

import { conversation, instrument, tool, turn } from "@reprise/client/instrument";

const getOrder = tool("get_order", ({ order_id }) => ({ order_id, state: "shipped" }));

await instrument({ prompt: Number(process.argv[2]) });
for await (const question of createInterface({ input: process.stdin })) {
  await conversation("c-1", { user: "u-1" }, () =>
    turn(question, async (held) => {
      const { state } = await getOrder({ order_id: question });
      held.answer(`Order ${question} is ${state}.`);
    }),
  );
  console.log(question);
}
