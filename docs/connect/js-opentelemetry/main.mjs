// An agent on the OpenAI client that creates its spans by hand, with only OpenTelemetry.

import { randomUUID } from 'node:crypto';
import { SpanKind, trace } from '@opentelemetry/api';
import OpenAI from 'openai';
import * as reprise from './reprise.mjs';

const MODEL = process.env.MODEL ?? 'gpt-4o-mini';
const QUESTIONS = ['Where is order 1042?', 'What is the weather there?'];

const TOOLS = {
  get_order: ({ order_id }) => ({ order_id, state: 'shipped', city: 'Oslo' }),
  get_weather: ({ city }) => ({ city, celsius: 4, sky: 'rain' }),
};

const provider = reprise.connect();
const tracer = trace.getTracer('shop');
const client = new OpenAI();

/** Runs `work` in a span that ends with it. */
function spanned(name, kind, attributes, work) {
  return tracer.startActiveSpan(name, { kind, attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.recordException(error);
      throw error;
    } finally {
      span.end();
    }
  });
}

/** A message of the chat API in the form of the GenAI conventions. */
function parts(message) {
  if (message.role === 'tool') {
    return [{ type: 'tool_call_response', id: message.tool_call_id, response: JSON.parse(message.content) }];
  }
  const text = message.content ? [{ type: 'text', content: message.content }] : [];
  const called = (message.tool_calls ?? []).map((call) => ({
    type: 'tool_call',
    id: call.id,
    name: call.function.name,
    arguments: JSON.parse(call.function.arguments),
  }));
  return [...text, ...called];
}

const recorded = (messages) => JSON.stringify(messages.map((message) => ({ role: message.role, parts: parts(message) })));

function chat(messages, offered) {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': MODEL,
    'gen_ai.input.messages': recorded(messages),
    'gen_ai.tool.definitions': JSON.stringify(offered),
  };
  return spanned(`chat ${MODEL}`, SpanKind.CLIENT, attributes, async (span) => {
    const tools = offered.map((tool) => ({ type: 'function', function: tool }));
    const { choices, usage } = await client.chat.completions.create({ model: MODEL, messages, tools });
    span.setAttributes({
      'gen_ai.output.messages': recorded([choices[0].message]),
      'gen_ai.usage.input_tokens': usage.prompt_tokens,
      'gen_ai.usage.output_tokens': usage.completion_tokens,
    });
    return choices[0].message;
  });
}

function callTool(call) {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.function.name,
    'gen_ai.tool.call.id': call.id,
    'gen_ai.tool.call.arguments': call.function.arguments,
  };
  return spanned(`execute_tool ${call.function.name}`, SpanKind.INTERNAL, attributes, async (span) => {
    const result = JSON.stringify(await TOOLS[call.function.name](JSON.parse(call.function.arguments)));
    span.setAttribute('gen_ai.tool.call.result', result);
    return { role: 'tool', tool_call_id: call.id, content: result };
  });
}

/** Call the model and its tools until it answers; adds to `messages`. */
async function answerTurn(messages, offered) {
  for (;;) {
    const message = await chat(messages, offered);
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const call of message.tool_calls) messages.push(await callTool(call));
  }
}

const prompt = await reprise.render({ tone: 'formal' });
const conversationId = randomUUID();
const messages = [{ role: 'system', content: prompt.instruction }];
for (const question of QUESTIONS) {
  messages.push({ role: 'user', content: question });
  const answer = await reprise.turn(prompt, conversationId, () =>
    answerTurn(messages, prompt.languageModelConfig.tools),
  );
  console.log(answer);
}
await provider.shutdown();
