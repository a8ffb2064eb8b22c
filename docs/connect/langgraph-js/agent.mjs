// A shop's agent on LangGraph. It has no telemetry code: the thread is the conversation.

import { randomUUID } from 'node:crypto';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { z } from 'zod';

const QUESTIONS = ['Where is order 1042?', 'What is the weather there?'];

const getOrder = tool(({ order_id }) => JSON.stringify({ order_id, state: 'shipped', city: 'Oslo' }), {
  name: 'get_order',
  description: 'The state of an order, by its number.',
  schema: z.object({ order_id: z.string() }),
});

const getWeather = tool(({ city }) => JSON.stringify({ city, celsius: 4, sky: 'rain' }), {
  name: 'get_weather',
  description: 'The weather that a parcel travels through, by city.',
  schema: z.object({ city: z.string() }),
});

const agent = createAgent({
  model: new ChatOpenAI({ model: process.env.MODEL ?? 'gpt-4o-mini' }),
  tools: [getOrder, getWeather],
  systemPrompt: 'Answer in a friendly tone.',
  checkpointer: new MemorySaver(),
});

const thread = { configurable: { thread_id: randomUUID() } };
for (const question of QUESTIONS) {
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] }, thread);
  console.log(messages.at(-1).content);
}
