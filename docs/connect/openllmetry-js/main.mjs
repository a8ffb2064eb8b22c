// An agent on the OpenAI client, recorded by OpenLLMetry (Traceloop's SDK for Node).

import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import * as traceloop from '@traceloop/node-server-sdk';
import * as reprise from './reprise.mjs';

// Of an ES module only what is handed over here is recorded, and it must be the class that the program then uses.
const { OpenAI } = createRequire(import.meta.url)('openai');

const MODEL = process.env.MODEL ?? 'gpt-4o-mini';
const QUESTIONS = ['Where is order 1042?', 'What is the weather there?'];

const TOOLS = {
  get_order: async ({ order_id }) => ({ order_id, state: 'shipped', city: 'Oslo' }),
  get_weather: async ({ city }) => ({ city, celsius: 4, sky: 'rain' }),
};

const [attributes, batch] = reprise.spanProcessors();
// The SDK accepts one processor: this one calls both.
const processor = {
  onStart: (span, parent) => (attributes.onStart(span, parent), batch.onStart(span, parent)),
  onEnd: (span) => batch.onEnd(span),
  forceFlush: () => batch.forceFlush(),
  shutdown: () => batch.shutdown(),
};
traceloop.initialize({
  appName: 'shop',
  processor,
  instrumentModules: { openAI: OpenAI },
  silenceInitializationMessage: true,
  traceloopSyncEnabled: false,
});
const client = new OpenAI();

async function callTool(call) {
  const { name } = call.function;
  const result = await traceloop.withTool({ name }, TOOLS[name], JSON.parse(call.function.arguments));
  return { role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) };
}

/** Call the model and its tools until it answers; adds to `messages`. */
async function answerTurn(messages, tools) {
  for (;;) {
    const completion = await client.chat.completions.create({ model: MODEL, messages, tools });
    const message = completion.choices[0].message;
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const call of message.tool_calls) messages.push(await callTool(call));
  }
}

const prompt = await reprise.render({ tone: 'formal' });
const tools = prompt.languageModelConfig.tools.map((tool) => ({ type: 'function', function: tool }));
const conversationId = randomUUID();
const messages = [{ role: 'system', content: prompt.instruction }];
for (const question of QUESTIONS) {
  messages.push({ role: 'user', content: question });
  console.log(await reprise.turn(prompt, conversationId, () => answerTurn(messages, tools)));
}
await processor.shutdown();
