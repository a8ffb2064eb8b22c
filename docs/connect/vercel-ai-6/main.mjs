// An agent on the Vercel AI SDK 6, recorded by its own telemetry, which each call must turn on.

import { randomUUID } from 'node:crypto';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import * as reprise from './reprise.mjs';

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

const provider = reprise.connect();
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const prompt = await reprise.render({ tone: 'formal' });
const conversationId = randomUUID();
const messages = [];
for (const question of QUESTIONS) {
  messages.push({ role: 'user', content: question });
  const result = await reprise.turn(prompt, conversationId, () =>
    generateText({
      model: openai.chat(MODEL),
      system: prompt.instruction,
      messages,
      tools,
      stopWhen: stepCountIs(10),
      experimental_telemetry: { isEnabled: true },
    }),
  );
  messages.push(...result.response.messages);
  console.log(result.text);
}
await provider.shutdown();
