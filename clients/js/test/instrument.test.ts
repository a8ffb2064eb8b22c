import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { context, trace } from "@opentelemetry/api";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

import { Delivery, STRIKES } from "../src/instrument/delivery.js";
import {
  conversation,
  instrument,
  type InstrumentOptions,
  type RepriseSpanProcessor,
  runTool,
  spanProcessor,
  tool,
  turn,
} from "../src/instrument/index.js";
import { Endpoint } from "../src/instrument/endpoint.js";
import { batches, type FinishedSpan, MAX_DEPTH } from "../src/instrument/otlp-json.js";
import { LIMITS, Spool } from "../src/instrument/spool.js";
import { Collector, until } from "./collector.js";

const PACE = { firstRetryMs: 5, lastRetryMs: 20, idleMs: 60_000, busyMs: 5 };
const KEY = "rp_test";

class World {
  readonly warnings: string[] = [];
  readonly collector: Collector;
  readonly folder: string;
  readonly #test: TestContext;

  constructor(test: TestContext, collector: Collector, folder: string) {
    this.collector = collector;
    this.folder = folder;
    this.#test = test;
    test.mock.method(process, "emitWarning", (message: string) => void this.warnings.push(message));
  }

  /** Sets this process up anew, as if it were another. */
  async start(options: Partial<InstrumentOptions> = {}): Promise<RepriseSpanProcessor> {
    trace.disable();
    context.disable();
    const known = { prompt: 17, baseUrl: this.collector.url, apiKey: KEY, spoolDir: this.folder, pace: PACE };
    const processor = await instrument({ ...known, ...options });
    assert(processor);
    this.#test.after(() => processor.shutdown());
    return processor;
  }

  get waiting(): string[] {
    const names = readdirSync(this.folder, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".json.gz")).sort();
  }
}

function inWorld(name: string, run: (world: World) => Promise<void>): void {
  void test(name, async (test) => {
    const folder = await mkdtemp(join(tmpdir(), "reprise-"));
    test.after(() => rm(folder, { recursive: true, force: true }));
    await run(new World(test, await Collector.start(test), folder));
  });
}

function record(...names: string[]): void {
  for (const name of names) trace.getTracer("app").startSpan(name).end();
}

inWorld("spans go to the address of the prompt with the key, and nothing stays on disk", async (world) => {
  const processor = await world.start();
  record("one", "two");

  assert(await processor.flush());

  const [request] = world.collector.requests;
  assert.equal(request?.url, "/api/public/prompts/17/otel/v1/traces");
  assert.equal(request.headers.authorization, `Bearer ${KEY}`);
  assert.equal(request.headers["content-encoding"], "gzip");
  assert.deepEqual(world.collector.names, ["one", "two"]);
  assert.deepEqual(world.waiting, []);
});

inWorld("spans are sent without being flushed", async (world) => {
  await world.start();
  record("one");

  await until(() => world.collector.names.length === 1);
});

inWorld("what is recorded while Reprise is away is sent in order when it is back", async (world) => {
  const processor = await world.start();
  await world.collector.stop();
  for (const name of ["one", "two", "three"]) {
    record(name);
    assert.equal(await processor.flush(), false);
  }
  assert.equal(world.waiting.length, 3);

  await world.collector.start();

  await until(() => world.waiting.length === 0);
  assert.deepEqual(world.collector.names, ["one", "two", "three"]);
  assert.equal(world.warnings.length, 1);
});

for (const status of [408, 429, 500, 502, 503, 504]) {
  inWorld(`a batch that is answered with ${status} is sent again`, async (world) => {
    world.collector.replies.push({ status, body: { message: "not now" } });
    const processor = await world.start();
    record("one");
    await processor.flush();

    await until(() => world.collector.names.length === 1);
  });
}

inWorld("an answer that is not that of Reprise loses nothing", async (world) => {
  const { always } = world.collector;
  world.collector.always = { status: 200, body: { login: "please" } };
  const processor = await world.start();
  record("one");
  assert.equal(await processor.flush(), false);
  world.collector.always = always;

  await until(() => world.waiting.length === 0);
});

inWorld("the time that Reprise asks for is waited", async (world) => {
  world.collector.always = { status: 429, headers: { "Retry-After": "100" } };
  const processor = await world.start();
  record("one");
  assert.equal(await processor.flush(), false);
  const asked = world.collector.requests.length;

  assert.equal(await processor.flush(), false);

  assert.equal(world.collector.requests.length, asked);
});

for (const status of [301, 400, 401, 404, 413]) {
  inWorld(`what Reprise refuses with ${status} is dropped with one warning in its words`, async (world) => {
    world.collector.always = { status, body: { message: "There is no such prompt." } };
    const processor = await world.start();
    for (const name of ["one", "two"]) {
      record(name);
      assert(await processor.flush());
    }

    const words = `Reprise refused 1 spans, which are dropped: ${status}: There is no such prompt.`;
    assert.deepEqual(world.warnings, [words]);
  });
}

inWorld("a batch at which the server fails again and again does not hold up the others", async (world) => {
  world.collector.replies.push(...Array.from({ length: STRIKES }, () => ({ status: 500 })));
  const processor = await world.start();
  record("poison");
  await processor.flush();
  record("one");

  await until(() => world.collector.names.includes("one"));
});

inWorld("rejected spans are told once in the words of Reprise", async (world) => {
  const partialSuccess = { rejectedSpans: "1", errorMessage: "span 0123456789abcdef has no name" };
  world.collector.always = { status: 200, body: { partialSuccess } };
  const processor = await world.start();
  for (const name of ["one", "two"]) {
    record(name);
    await processor.flush();
  }

  assert.deepEqual(world.warnings, ["Reprise rejected 1 of 1 spans: span 0123456789abcdef has no name"]);
});

inWorld("once it has settled nothing keeps the process alive until there is more", async (world) => {
  world.collector.replies.push({ status: 200, hangs: true });
  const delivery = new Delivery(new Spool(world.folder, LIMITS), new Endpoint(world.collector.url, KEY, 60_000), PACE);
  await delivery.put({ body: '{"resourceSpans":[]}', spans: 1 });

  assert.equal(await delivery.settle(50), false);
  await sleep(100);

  assert.equal(world.collector.requests.length, 1);
  assert(await delivery.flush(60_000));
  await delivery.shutdown(60_000);
});

inWorld("the oldest go when more waits than may", async (world) => {
  await world.collector.stop();
  const processor = await world.start({ limits: { maxBatches: 3 } });
  for (let number = 0; number < 10; number += 1) {
    record(`span ${number}`);
    await processor.flush();
  }
  assert.equal(world.waiting.length, 3);

  await world.collector.start();

  await until(() => world.waiting.length === 0);
  assert.deepEqual(world.collector.names, ["span 7", "span 8", "span 9"]);
  assert.match(world.warnings.join("\n"), /1 spans that Reprise had not taken were dropped/);
});

inWorld("a folder that can't be written costs no span", async (world) => {
  writeFileSync(join(world.folder, "file"), "");
  const processor = await world.start({ spoolDir: join(world.folder, "file") });
  record("one");

  assert(await processor.flush());

  assert.deepEqual(world.collector.names, ["one"]);
  assert.match(world.warnings.join("\n"), /kept in memory/);
});

inWorld("only the owner may read what was said", async (world) => {
  await world.collector.stop();
  const processor = await world.start();
  record("one");
  await processor.flush();

  const path = join(world.folder, world.waiting[0]!);
  assert.equal(statSync(path).mode & 0o077, 0);
  assert(!readFileSync(path).includes(KEY));
});

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

inWorld("what was set up counts where a span says nothing else", async (world) => {
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
  const told = await turn("Where is it?", async (held) => {
    const { state } = await find({ order: "A-1" });
    held.answer(`It is ${state}.`, { model: "gpt-x", outputTokens: 3 });
    return state;
  });
  await processor.flush();

  assert.equal(told, "shipped");
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
  inWorld(`model calls of ${Object.keys(attributes)[0]} are not told twice`, async (world) => {
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

inWorld("what was said can be left out", async (world) => {
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

inWorld("without a key the application runs and is told", async (world) => {
  assert.equal(spanProcessor({ prompt: 17, baseUrl: world.collector.url, apiKey: "" }), null);

  assert.match(world.warnings.join("\n"), /REPRISE_API_KEY is missing/);
});

inWorld("where a provider is set, the application is told to give it the processor", async (world) => {
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

void test("a value that is nested deeply is cut, and every type has its field", () => {
  let deep: unknown = "end";
  for (let level = 0; level < 10_000; level += 1) deep = [deep];
  const values = { deep, part: 0.5, none: NaN, whole: 3, yes: true, nothing: null, bytes: new Uint8Array([1]), map: { a: "b" } };
  const span = {
    name: "one",
    kind: 0,
    spanContext: () => ({ traceId: "1".repeat(32), spanId: "1".repeat(16), traceFlags: 1 }),
    startTime: [1, 5],
    endTime: [2, 0],
    status: { code: 0 },
    attributes: values,
    links: [],
    events: [],
    resource: { attributes: {} },
    droppedAttributesCount: 0,
  } as unknown as FinishedSpan;

  const [batch] = [...batches([span])];

  assert.equal(batch!.body.split("arrayValue").length - 1, MAX_DEPTH);
  assert.match(batch!.body, /"startTimeUnixNano":"1000000005"/);
  for (const field of ['{"doubleValue":0.5}', '{"doubleValue":"NaN"}', '{"intValue":"3"}', '{"bytesValue":"AQ=="}', "kvlist"]) {
    assert(batch!.body.includes(field), field);
  }
  assert.equal([...batches([span, span, span], 100)].length, 3);
});
