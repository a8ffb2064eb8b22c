// A shop's agent on Anthropic's client. Its only telemetry code marks turns and names the conversation.

import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { trace } from '@opentelemetry/api';

const MODEL = process.env.MODEL ?? 'claude-haiku-4-5';
const QUESTIONS = ['Where is order 1042?', 'What is the weather there?'];

const TOOLS = {
  get_order: ({ order_id }) => ({ order_id, state: 'shipped', city: 'Oslo' }),
  get_weather: ({ city }) => ({ city, celsius: 4, sky: 'rain' }),
};

function definition(name, parameter) {
  const properties = { [parameter]: { type: 'string' } };
  return { name, input_schema: { type: 'object', properties, required: [parameter] } };
}

const tools = [definition('get_order', 'order_id'), definition('get_weather', 'city')];
const system = 'Answer in a friendly tone.';
const client = new Anthropic();

function callTool({ id, name, input }) {
  return { type: 'tool_result', tool_use_id: id, content: JSON.stringify(TOOLS[name](input)) };
}

/** Call the model and its tools until it answers; adds to `messages`. */
async function answerTurn(messages) {
  for (;;) {
    const { content } = await client.messages.create({ model: MODEL, max_tokens: 1000, system, messages, tools });
    messages.push({ role: 'assistant', content });
    const calls = content.filter(({ type }) => type === 'tool_use');
    if (!calls.length) return content.map(({ text }) => text).join('');
    messages.push({ role: 'user', content: calls.map(callTool) });
  }
}

const tracer = trace.getTracer('shop');
const attributes = { 'session.id': randomUUID() };
const messages = [];
for (const question of QUESTIONS) {
  messages.push({ role: 'user', content: question });
  const answer = await tracer.startActiveSpan('turn', { attributes }, (turn) =>
    answerTurn(messages).finally(() => turn.end()),
  );
  console.log(answer);
}
