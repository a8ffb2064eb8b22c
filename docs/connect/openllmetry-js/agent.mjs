// A shop's agent on OpenAI's client, which marks turns, tools and the conversation with Traceloop's functions.

import { randomUUID } from 'node:crypto';
import * as traceloop from '@traceloop/node-server-sdk';
import OpenAI from 'openai';

const MODEL = process.env.MODEL ?? 'gpt-4o-mini';
const QUESTIONS = ['Where is order 1042?', 'What is the weather there?'];

const TOOLS = {
  get_order: async ({ order_id }) => ({ order_id, state: 'shipped', city: 'Oslo' }),
  get_weather: async ({ city }) => ({ city, celsius: 4, sky: 'rain' }),
};

function definition(name, parameter) {
  const properties = { [parameter]: { type: 'string' } };
  return { type: 'function', function: { name, parameters: { type: 'object', properties, required: [parameter] } } };
}

const tools = [definition('get_order', 'order_id'), definition('get_weather', 'city')];
const client = new OpenAI();

async function callTool({ id, function: { name, arguments: given } }) {
  const result = await traceloop.withTool({ name }, TOOLS[name], JSON.parse(given));
  return { role: 'tool', tool_call_id: id, content: JSON.stringify(result) };
}

/** Call the model and its tools until it answers; adds to `messages`. */
async function answerTurn(messages) {
  for (;;) {
    const completion = await client.chat.completions.create({ model: MODEL, messages, tools });
    const { message } = completion.choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const call of message.tool_calls) messages.push(await callTool(call));
  }
}

const conversation = randomUUID();
const messages = [{ role: 'system', content: 'Answer in a friendly tone.' }];
for (const question of QUESTIONS) {
  messages.push({ role: 'user', content: question });
  const turn = () => traceloop.withWorkflow({ name: 'turn' }, answerTurn, messages);
  console.log(await traceloop.withConversation(conversation, turn));
}
