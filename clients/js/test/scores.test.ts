import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidRequestError, UnreachableError } from "../src/index.js";
import { type Answer, FakeServer, json, refuse } from "./fake_server.js";

/** Answers as a server that stores the score. */
const stored: Answer = (response, request) =>
  json({ id: JSON.parse(request.body).id }, { status: 201 })(response, request);

test("a score is stored with the id that the client made, and sent again with the same", async (t) => {
  const answers = [refuse, stored];
  const server = await FakeServer.start(t, (...request) => answers.shift()?.(...request));

  const id = await server.client(t).score("helpful", false, { traceId: "ab", spanId: "cd", comment: "No. 😀" });

  const bodies = server.requests.map(({ body }) => JSON.parse(body));
  const target = { traceId: "ab", spanId: "cd" };
  assert.deepEqual(bodies, Array(2).fill({ id, name: "helpful", value: false, comment: "No. 😀", target }));
  assert.deepEqual(server.requests[0]?.url, "/api/v1/scores");
});

test("each score is another one unless the caller names it", async (t) => {
  const server = await FakeServer.start(t, stored);
  const client = server.client(t);

  const ids = [await client.score("tone", "kind", { runId: 9 }), await client.score("tone", "kind", { runId: 9 })];

  assert.notEqual(ids[0], ids[1]);
  assert.equal(await client.score("tone", 0.5, { runId: 9, id: "mine" }), "mine");
});

test("a score that is not stored is an error", async (t) => {
  const server = await FakeServer.start(t, json({ error: "value: Must be a finite number." }, { status: 400 }));
  const client = server.client(t);

  await assert.rejects(client.score("tone", Number.NaN, { runId: 9 }), InvalidRequestError);
  server.answer = json({ done: true });
  await assert.rejects(client.score("tone", 1, { runId: 9 }), UnreachableError);
});
