// The Vercel AI SDK, whole or streamed, which would call the tool itself.
import readline from "node:readline";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const find = tool({
  inputSchema: z.object({ order: z.string() }),
  execute: () => process.exit("a tool was called"),
});
const model = process.argv.includes("chat") ? openai.chat("gpt-4o-mini") : openai("gpt-4o-mini");
const messages = [];
for await (const line of readline.createInterface({ input: process.stdin })) {
  messages.push({ role: "user", content: JSON.parse(line).user });
  const sent = { model, system: "Help.", messages, tools: { find }, stopWhen: stepCountIs(5) };
  const result = process.argv.includes("streamed") ? streamText(sent) : await generateText(sent);
  const text = await result.text;
  messages.push({ role: "assistant", content: text });
  console.log(JSON.stringify({ text }));
}
