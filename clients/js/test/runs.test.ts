import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";

import {
  ApiError,
  ConflictError,
  InvalidRequestError,
  type Piece,
  type RunResult,
  RunTimeoutError,
  ServerError,
  UnreachableError,
} from "../src/index.js";
import { type Answer, FakeServer, hang, json, refuse, until } from "./fake_server.js";

const ANSWER = {
  answer: "Grüße 😀",
  tokens: { prompt: 3, completion: 4, total: 7 },
  cost: null,
  response_time_ms: 12,
  placeholders: { resolved: { tone: "formal" }, ignored: ["size"] },
  model: { id: 1, name: "echo", vendor: "BUILTIN" },
  status: "NOK: cut off",
};
const RUN = { headers: { "X-Run-Id": "42" } };
const STREAM = { "Content-Type": "text/event-stream", "X-Run-Id": "42" };

function event(kind: string, data: unknown, id = ""): string {
  return `${id && `id: ${id}\n`}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
}

const TOKENS = [
  event("token", { text: "Grüße " }, "1-0"),
  event("reasoning", { text: "hm" }, "2-0"),
  event("token", { text: "😀" }, "3-0"),
];
const DONE = event("done", ANSWER, "end");

/** Answers with a stream of these bytes, one write for each. */
function stream(...writes: (string | Uint8Array)[]): Answer {
  return (response) => void write(response, writes);
}

async function write(response: ServerResponse, writes: (string | Uint8Array)[]): Promise<void> {
  response.writeHead(200, STREAM);
  for (const one of writes) await new Promise((resolve) => response.write(one, resolve));
  response.end();
}

async function collected(events: AsyncIterable<Piece | RunResult>): Promise<unknown[]> {
  const found = [];
  for await (const one of events)
    found.push("text" in one ? one.text : one.kind === "result" ? one.answer : one.toolCall);
  return found;
}

test("a run has its answer, and what became of the placeholders", async (t) => {
  const server = await FakeServer.start(t, json(ANSWER, RUN));

  const { raw, ...found } = await server
    .client(t)
    .run(17, "Where?", { placeholders: { tone: "formal" }, label: "production" });

  assert.deepEqual(found, {
    kind: "result",
    runId: 42,
    answer: "Grüße 😀",
    tokens: ANSWER.tokens,
    responseTimeMs: 12,
    resolved: { tone: "formal" },
    ignored: ["size"],
    nok: "cut off",
    model: ANSWER.model,
    cost: null,
    toolCalls: [],
    chainOfThoughts: null,
    fallback: false,
  });
  assert.deepEqual(raw, ANSWER);
  assert.deepEqual(JSON.parse(server.requests[0]?.body ?? ""), {
    id: 17,
    question: "Where?",
    placeholders: { tone: "formal" },
    productive: true,
    label: "production",
    files: [],
  });
});

test("a file goes with the question as base64", async (t) => {
  const server = await FakeServer.start(t, json(ANSWER, RUN));
  const content = new Uint8Array([0, 255, 1, 2]).subarray(1, 3);

  await server.client(t).run(17, "What?", { files: [{ name: "a.png", content, mediaType: "image/png" }], draft: true });

  const { files, productive } = JSON.parse(server.requests[0]?.body ?? "");
  assert.deepEqual(files, [{ fileName: "a.png", contentType: "image/png", base64: "/wE=" }]);
  assert.equal(productive, false);
});

test("a request that fails in passing is repeated with the same key, and each call has another key", async (t) => {
  const server = await FakeServer.start(t, refuse);
  const client = server.client(t);
  const run = client.run(17, "Where?");
  await until(() => server.requests.length === 1);
  server.answer = json(ANSWER, RUN);

  await run;
  await client.run(17, "Where?");

  const [first, second, third] = server.requests.map(({ headers }) => headers["idempotency-key"]);
  assert.ok(first);
  assert.equal(first, second);
  assert.notEqual(first, third);
});

test("Retry-After sets when a request is repeated", async (t) => {
  const server = await FakeServer.start(t, json({ error: "Busy." }, { status: 503, headers: { "Retry-After": "1" } }));
  const before = performance.now();
  const run = server.client(t).run(17, "Where?");
  await until(() => server.requests.length === 1);
  server.answer = json(ANSWER, RUN);

  assert.equal((await run).answer, ANSWER.answer);
  assert.ok(performance.now() - before >= 1000);
});

for (const [status, kind] of [
  [400, InvalidRequestError],
  [409, ConflictError],
  [500, ServerError],
  [502, ServerError],
] as const) {
  test(`an answer with ${status} is not repeated, and its error has the server's words`, async (t) => {
    const server = await FakeServer.start(t, json({ error: "No such thing: 😀" }, { status, ...RUN }));

    await assert.rejects(server.client(t).run(17, "Where?"), (error) => {
      assert.ok(error instanceof kind && error instanceof ApiError);
      assert.deepEqual([error.message, error.status, error.runId], ["No such thing: 😀", status, 42]);
      return true;
    });
    assert.equal(server.requests.length, 1);
  });
}

test("a run that the server ends the wait for is followed to its end", async (t) => {
  const server = await FakeServer.start(t, (response, request) =>
    (request.method === "POST" ? json({ error: "It goes on." }, { status: 504, ...RUN }) : stream(DONE))(
      response,
      request,
    ),
  );

  assert.equal((await server.client(t).run(17, "Where?")).runId, 42);
  assert.equal(server.requests[1]?.url, "/api/v1/runs/42/events");
});

test("a stream yields its pieces, the tool calls and the result, whatever the bytes of a piece", async (t) => {
  const call = { id: "c1", name: "find", arguments: { order: "😀" } };
  const whole = Buffer.from(
    [": run 42\nretry: 1000\n\n", ...TOKENS, event("tool_call", call, "4-0"), ": still\n\n", DONE].join(""),
  );
  const server = await FakeServer.start(t, hang);
  const client = server.client(t);

  for (const size of [1, 2, 3, 7, 64, whole.length]) {
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
      whole.subarray(index * size, (index + 1) * size),
    );
    server.answer = stream(...pieces);
    assert.deepEqual(await collected(client.stream(17, "Where?")), ["Grüße ", "hm", "😀", call, ANSWER.answer]);
  }
});

test("an event of a kind that is not known yet is no piece", async (t) => {
  const server = await FakeServer.start(t, stream(event("image", { url: "x" }, "1-0"), DONE));

  assert.deepEqual(await collected(server.client(t).stream(17, "Where?")), [ANSWER.answer]);
});

test("an event of many megabytes is read in time that grows only with it", async (t) => {
  const text = "ü😀".repeat(1_000_000);
  const server = await FakeServer.start(t, stream(event("token", { text }, "1-0"), DONE));

  assert.deepEqual(await collected(server.client(t).stream(17, "Where?")), [text, ANSWER.answer]);
});

test("lines of a stream may end with CR LF", async (t) => {
  const server = await FakeServer.start(t, stream((TOKENS.join("") + DONE).replaceAll("\n", "\r\n")));

  assert.deepEqual(await collected(server.client(t).stream(17, "Where?")), ["Grüße ", "hm", "😀", ANSWER.answer]);
});

test("a stream that breaks off goes on after the last event that came", async (t) => {
  const server = await FakeServer.start(t, (response, request) =>
    stream(...(request.headers["last-event-id"] === "2-0" ? [TOKENS[2] ?? "", DONE] : TOKENS.slice(0, 2)))(
      response,
      request,
    ),
  );

  assert.deepEqual(await collected(server.client(t).stream(17, "Where?")), ["Grüße ", "hm", "😀", ANSWER.answer]);
  const [first, second] = server.requests;
  assert.equal(first?.headers["idempotency-key"], second?.headers["idempotency-key"]);
});

test("an error of the stream is come back from, an error of the run is thrown", async (t) => {
  const server = await FakeServer.start(t, (response, request) =>
    stream(
      request.headers["last-event-id"]
        ? event("error", { error: "The vendor failed.", status: 502 }, "end")
        : (TOKENS[0] ?? "") + event("error", { error: "The wait was too long.", status: 504 }),
    )(response, request),
  );

  await assert.rejects(collected(server.client(t).stream(17, "Where?")), (error) => {
    assert.ok(error instanceof ServerError);
    assert.deepEqual([error.message, error.status, error.runId], ["The vendor failed.", 502, 42]);
    return true;
  });
  assert.equal(server.requests.length, 2);
});

test("what is refused before the stream begins is thrown with its status", async (t) => {
  const server = await FakeServer.start(t, json({ error: "question: Missing." }, { status: 400 }));

  await assert.rejects(collected(server.client(t).stream(17, "")), /^InvalidRequestError: question: Missing\.$/);
});

test("a caller who stops reading ends the connection", async (t) => {
  let closed = false;
  const server = await FakeServer.start(t, (response) => {
    response.on("close", () => (closed = true));
    response.writeHead(200, STREAM).write(TOKENS[0]);
  });

  for await (const piece of server.client(t).stream(17, "Where?")) {
    assert.equal(piece.kind, "token");
    break;
  }

  await until(() => closed);
});

test("an abort ends a run and a stream with its reason", async (t) => {
  const server = await FakeServer.start(t, hang);
  const client = server.client(t);
  const controller = new AbortController();
  const { signal } = controller;
  const waits = [client.run(17, "Where?", { signal }), collected(client.stream(17, "Where?", { signal }))];
  const ended = Promise.allSettled(waits);
  await until(() => server.requests.length === 2);

  controller.abort(new Error("enough"));

  for (const one of await ended) assert.match(String(one.status === "rejected" && one.reason), /enough/);
  await assert.rejects(client.startRun(17, "Where?", { signal }), /enough/);
});

test("a caller waits no longer than it wants, and learns which run continues", async (t) => {
  const server = await FakeServer.start(t, (response) => response.writeHead(200, STREAM).write(": still in work\n\n"));

  await assert.rejects(server.client(t).runResult(42, { timeoutS: 0.1 }), (error) => {
    assert.ok(error instanceof RunTimeoutError);
    assert.equal(error.runId, 42);
    return true;
  });
});

test("a run that is begun is named, and its result is waited for later", async (t) => {
  const server = await FakeServer.start(t, (response, request) =>
    (request.method === "POST" ? json({ id: 42 }, { status: 202, ...RUN }) : stream(...TOKENS, DONE))(
      response,
      request,
    ),
  );
  const client = server.client(t);

  const runId = await client.startRun(17, "Where?");

  assert.equal(runId, 42);
  assert.equal(server.requests[0]?.headers["prefer"], "respond-async");
  assert.equal((await client.runResult(runId)).answer, ANSWER.answer);
});

test("an answer that is not of Reprise is an error", async (t) => {
  const server = await FakeServer.start(t, (response) => response.end("<html>"));

  await assert.rejects(server.client(t).run(17, "Where?", { timeoutS: 0.1 }), UnreachableError);
});
