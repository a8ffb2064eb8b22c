// A shop's agent on the Vercel AI SDK 7. Its only telemetry code permits recording the conversation id.

import { randomUUID } from 'node:crypto';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';

const MODEL = process.env.MODEL ?? 'gpt-4o-mini';
const QUESTIONS = ['Where is order 1042?', 'What is the weather there?'];

const tools = {
  get_order: tool({
    description: 'The state of an order, by its number.',
    inputSchema: z.object({ order_id: z.string() }),
    execute: async ({ order_id }) => ({ order_id, state: 'shipped', city: 'Oslo' }),
  }),
  get_weather: tool({
    description: 'The weather that a parcel travels through, by city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, celsius: 4, sky: 'rain' }),
  }),
};

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const runtimeContext = { conversationId: randomUUID() };
const messages = [];
for (const question of QUESTIONS) {
  messages.push({ role: 'user', content: question });
  const { text, response } = await generateText({
    model: openai(MODEL),
    instructions: 'Answer in a friendly tone.',
    messages,
    tools,
    stopWhen: stepCountIs(10),
    runtimeContext,
    telemetry: { includeRuntimeContext: { conversationId: true } },
  });
  messages.push(...response.messages);
  console.log(text);
}
