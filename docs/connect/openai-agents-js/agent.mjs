// A shop's agent on OpenAI's Agents SDK. Its only telemetry code marks turns and names the conversation.

import { randomUUID } from 'node:crypto';
import { Agent, MemorySession, run, tool } from '@openai/agents';
import { trace } from '@opentelemetry/api';
import { z } from 'zod';

const QUESTIONS = ['Where is order 1042?', 'What is the weather there?'];

const getOrder = tool({
  name: 'get_order',
  description: 'The state of an order, by its number.',
  parameters: z.object({ order_id: z.string() }),
  execute: ({ order_id }) => ({ order_id, state: 'shipped', city: 'Oslo' }),
});

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather that a parcel travels through, by city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 4, sky: 'rain' }),
});

const agent = new Agent({
  name: 'shop',
  model: process.env.MODEL ?? 'gpt-4o-mini',
  instructions: 'Answer in a friendly tone.',
  tools: [getOrder, getWeather],
});

const tracer = trace.getTracer('shop');
const attributes = { 'session.id': randomUUID() };
const session = new MemorySession();
for (const question of QUESTIONS) {
  const { finalOutput } = await tracer.startActiveSpan('turn', { attributes }, (turn) =>
    run(agent, question, { session }).finally(() => turn.end()),
  );
  console.log(finalOutput);
}
