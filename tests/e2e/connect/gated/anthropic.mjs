// Anthropic's client for JavaScript, whole or streamed.
import readline from "node:readline";
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();
const tools = [{ name: "find", input_schema: { type: "object", properties: { order: { type: "string" } } } }];
const messages = [];
for await (const line of readline.createInterface({ input: process.stdin })) {
  messages.push({ role: "user", content: JSON.parse(line).user });
  const sent = { model: "claude-haiku-4-5", max_tokens: 500, system: "Help.", messages, tools };
  const message = process.argv.includes("streamed")
    ? await client.messages.stream(sent).finalMessage()
    : await client.messages.create(sent);
  if (message.stop_reason !== "end_turn") throw new Error("a tool was called");
  messages.push({ role: "assistant", content: message.content });
  console.log(JSON.stringify({ text: message.content[0].text }));
}
