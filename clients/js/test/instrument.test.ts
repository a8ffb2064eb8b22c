import assert from "node:assert/strict";
import { test } from "node:test";

import { context, trace } from "@opentelemetry/api";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

import { conversation, instrument, runTool, spanProcessor, tool, turn } from "../src/instrument/index.js";
import { inWorld, KEY, record, spanWith } from "./world.js";

inWorld("every span within a conversation names it, its user and its prompt", async (world) => {
  const processor = await world.start();
  const prompt = { version: "a".repeat(64), resolved: { tone: "formal", city: null } };
  conversation("c-1", { user: "u-1", prompt, promptId: 18 }, () => record("within"));
  record("after");
  await processor.flush();

  assert.deepEqual(world.collector.attributes("within"), {
    "gen_ai.conversation.id": "c-1",
    "user.id": "u-1",
    "service.prompt.id": "18",
    "service.prompt.placeholders": '{"tone":"formal"}',
    "service.prompt.version": "a".repeat(64),
  });
  assert.deepEqual(world.collector.attributes("after"), {});
});

inWorld("what was set up counts where a span has no other value", async (world) => {
  const processor = await world.start({ conversation: "c-0", user: "u-0", version: "v1" });
  const own = { attributes: { "gen_ai.conversation.id": "its own" } };
  trace.getTracer("app").startSpan("own", own).end();
  conversation("c-1", {}, () => trace.getTracer("app").startSpan("within", own).end());
  await processor.flush();

  assert.equal(world.collector.attributes("own")["gen_ai.conversation.id"], "its own");
  assert.equal(world.collector.attributes("own")["user.id"], "u-0");
  assert.equal(world.collector.attributes("within")["gen_ai.conversation.id"], "c-1");
});

inWorld("a turn without instrumentation is a model call of its question and answer, with its tools", async (world) => {
  const processor = await world.start();
  const find = tool("find", async ({ order }: { order: string }) => ({ order, state: "shipped" }));
  const answer = await turn("Where is it?", async (held) => {
    const { state } = await find({ order: "A-1" });
    held.answer(`It is ${state}.`, { model: "gpt-x", outputTokens: 3 });
    return state;
  });
  await processor.flush();

  assert.equal(answer, "shipped");
  const chat = world.collector.attributes("chat");
  assert.match(String(chat["gen_ai.input.messages"]), /Where is it\?/);
  assert.match(String(chat["gen_ai.output.messages"]), /It is shipped\./);
  assert.equal(chat["gen_ai.request.model"], "gpt-x");
  assert.deepEqual(world.collector.attributes("execute_tool find"), {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "find",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.arguments": '{"order":"A-1"}',
    "gen_ai.tool.call.result": '{"order":"A-1","state":"shipped"}',
  });
  assert.equal(new Set(world.collector.stored.map((span) => span.traceId)).size, 1);
});

inWorld("the answer of a turn comes after its tools, however fast they are", async (world) => {
  const processor = await world.start();
  for (let number = 0; number < 20; number += 1) {
    await turn("Where is it?", async (held) => held.answer(await runTool("find", {}, () => "Here.")));
  }
  await processor.flush();

  for (const chat of world.collector.stored.filter((span) => span.name === "chat")) {
    const found = world.collector.stored.find(({ name, traceId }) => name.endsWith("find") && traceId === chat.traceId);
    assert(BigInt(chat.startTimeUnixNano) > BigInt(found!.endTimeUnixNano));
  }
});

for (const attributes of [
  { "gen_ai.operation.name": "chat" },
  { "openinference.span.kind": "LLM" },
  { "gen_ai.request.model": "m" },
]) {
  inWorld(`model calls of ${Object.keys(attributes)[0]} are not recorded twice`, async (world) => {
    const processor = await world.start();
    await turn("Where is it?", (held) => {
      trace.getTracer("library").startSpan("model call", { attributes }).end();
      held.answer("Here.");
    });
    await processor.flush();

    assert.deepEqual(world.collector.names.sort(), ["invoke_agent", "model call"]);
  });
}

inWorld("what a tool or a turn throws is its error, and is thrown", async (world) => {
  const processor = await world.start();
  const failing = turn("Where is it?", () => {
    return runTool("find", { order: "A-1" }, () => {
      throw new RangeError("no order A-1");
    });
  });
  await assert.rejects(failing, RangeError);
  await processor.flush();

  for (const name of ["execute_tool find", "chat", "invoke_agent"]) {
    const span = world.collector.stored.find((found) => found.name === name);
    assert.deepEqual(span?.status, { code: 2, message: "no order A-1" });
  }
});

inWorld("no value of the application breaks a tool", async (world) => {
  const processor = await world.start();
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  for (const value of [circle, 1n, undefined, null, Symbol("s"), "x".repeat(200_000), "\0\u{1f642}\ud800"]) {
    assert.equal(await runTool("find", value, () => value), value);
  }

  assert(await processor.flush());
  assert.equal(world.collector.stored.length, 7);
});

inWorld("a span with an invalid time is written, and so are later spans", async (world) => {
  const processor = await world.start();
  trace.getTracer("library").startSpan("undated").end(new Date(NaN));
  await processor.forceFlush();
  record("later");

  assert(await processor.flush());
  assert.deepEqual(world.collector.names, ["undated", "later"]);
  assert.equal(world.collector.stored[0]?.endTimeUnixNano, "0");
});

inWorld("a turn has its time although a span within has none", async (world) => {
  const processor = await world.start();
  await turn("Where is it?", (held) => {
    record("dated");
    trace.getTracer("library").startSpan("undated").end(new Date(NaN));
    held.answer("Here.");
  });
  await processor.flush();

  const [chat, dated] = ["chat", "dated"].map((name) => world.collector.stored.find((span) => span.name === name));
  assert(BigInt(chat!.startTimeUnixNano) > BigInt(dated!.endTimeUnixNano));
});

for (const [name, broken] of Object.entries({
  "a span that can't be encoded": { status: null },
  "a span of which the resource can't be encoded": { resource: null },
})) {
  inWorld(`${name} is dropped with one warning, and later spans are written`, async (world) => {
    const processor = await world.start();
    for (let number = 0; number < 2; number += 1) {
      processor.onEnd(spanWith(broken));
      await processor.forceFlush();
    }
    record("later");

    assert(await processor.flush());
    assert.deepEqual(world.collector.names, ["later"]);
    assert.equal(world.warnings.filter((warning) => warning.includes("dropped")).length, 1);
  });
}

inWorld("messages can be left out", async (world) => {
  const processor = await world.start({ captureContent: false });
  await turn("I am Ada.", async (held) => {
    await runTool("find", { name: "Ada" }, () => "Ada Lovelace");
    held.answer("Hello Ada.");
  });
  await processor.flush();
  await world.start();

  assert(!JSON.stringify(world.collector.stored).includes("Ada"));
  assert.equal(world.collector.stored.length, 3);
});

void test("nothing is recorded and nothing breaks where nothing is set up", async () => {
  trace.disable();
  context.disable();

  assert.equal(await conversation("c-1", {}, () => turn("Where?", (held) => held.answer("Here."))), undefined);
});

inWorld("without a key the application runs and gets a warning", async (world) => {
  assert.equal(spanProcessor({ prompt: 17, baseUrl: world.collector.url, apiKey: "" }), null);

  assert.match(world.warnings.join("\n"), /REPRISE_API_KEY is missing/);
});

inWorld("where a provider is set, a warning asks the application to give it the processor", async (world) => {
  trace.disable();
  context.disable();
  const options = { prompt: 17, baseUrl: world.collector.url, apiKey: KEY, spoolDir: world.folder };
  const processor = spanProcessor(options);
  assert(processor);
  new NodeTracerProvider({ spanProcessors: [processor] }).register();

  assert.equal(await instrument(options), null);

  assert.match(world.warnings.join("\n"), /there is a tracer provider already/);
  record("one");
  assert(await processor.flush());
  assert.deepEqual(world.collector.names, ["one"]);
  await processor.shutdown();
});

inWorld("an agent needs only a name, and one of both is named", async (world) => {
  const processor = await world.start({ prompt: undefined, agent: "shop/support" } as never);
  record("one");
  await processor.flush();

  assert.equal(world.collector.requests[0]?.url, "/api/public/agents/shop%2Fsupport/otel/v1/traces");
  for (const named of [{}, { prompt: 17, agent: "shop" }]) {
    assert.equal(spanProcessor({ ...named, baseUrl: world.collector.url, apiKey: KEY }), null);
  }
  assert.match(world.warnings.join(), /name either a prompt or an agent/);
});

inWorld("the name of the agent is that of REPRISE_AGENT unless a prompt is given", async (world) => {
  process.env["REPRISE_AGENT"] = "shop";
  try {
    for (const options of [{ prompt: undefined } as never, {}]) {
      const processor = await world.start(options);
      record("one");
      await processor.flush();
    }
  } finally {
    delete process.env["REPRISE_AGENT"];
  }

  const paths = world.collector.requests.map((request) => request.url);
  assert.deepEqual(paths, ["/api/public/agents/shop/otel/v1/traces", "/api/public/prompts/17/otel/v1/traces"]);
});
