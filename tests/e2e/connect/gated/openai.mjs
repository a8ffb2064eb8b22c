// OpenAI's client for JavaScript, whole or streamed.
import readline from "node:readline";
import OpenAI from "openai";

const client = new OpenAI();
const tools = [{ type: "function", function: { name: "find", parameters: { type: "object", properties: { order: {} } } } }];
const messages = [{ role: "system", content: "Help." }];
for await (const line of readline.createInterface({ input: process.stdin })) {
  messages.push({ role: "user", content: JSON.parse(line).user });
  const sent = { model: "gpt-4o-mini", messages, tools };
  const completion = process.argv.includes("streamed")
    ? await client.chat.completions.stream(sent).finalChatCompletion()
    : await client.chat.completions.create(sent);
  const { message } = completion.choices[0];
  if (message.tool_calls?.length) throw new Error("a tool was called");
  messages.push(message);
  console.log(JSON.stringify({ text: message.content }));
}
