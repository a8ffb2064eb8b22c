// A shop's agent on OpenAI's client. Its only telemetry code marks turns and names the conversation.

import { randomUUID } from 'node:crypto';
import { trace } from '@opentelemetry/api';
import OpenAI from 'openai';

const MODEL = process.env.MODEL ?? 'gpt-4o-mini';
const QUESTIONS = ['Where is order 1042?', 'What is the weather there?'];

const TOOLS = {
  get_order: ({ order_id }) => ({ order_id, state: 'shipped', city: 'Oslo' }),
  get_weather: ({ city }) => ({ city, celsius: 4, sky: 'rain' }),
};

function definition(name, parameter) {
  const properties = { [parameter]: { type: 'string' } };
  return { type: 'function', function: { name, parameters: { type: 'object', properties, required: [parameter] } } };
}

const tools = [definition('get_order', 'order_id'), definition('get_weather', 'city')];
const client = new OpenAI();

function callTool({ id, function: { name, arguments: given } }) {
  return { role: 'tool', tool_call_id: id, content: JSON.stringify(TOOLS[name](JSON.parse(given))) };
}

/** Call the model and its tools until it answers; adds to `messages`. */
async function answerTurn(messages) {
  for (;;) {
    const completion = await client.chat.completions.create({ model: MODEL, messages, tools });
    const { message } = completion.choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    messages.push(...message.tool_calls.map(callTool));
  }
}

const tracer = trace.getTracer('shop');
const attributes = { 'session.id': randomUUID() };
const messages = [{ role: 'system', content: 'Answer in a friendly tone.' }];
for (const question of QUESTIONS) {
  messages.push({ role: 'user', content: question });
  const answer = await tracer.startActiveSpan('turn', { attributes }, (turn) =>
    answerTurn(messages).finally(() => turn.end()),
  );
  console.log(answer);
}
