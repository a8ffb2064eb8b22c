/** What is served of a prompt, and when it is asked for again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AuthenticationError, NotFoundError, RateLimitedError, UnreachableError } from "../src/index.js";
import { API_KEY, eventually, FakeServer, hang, HASH, json, prompt, refuse, until } from "./fake_server.js";

const NEWER = "b".repeat(64);
const BE = "Be {{tone}} to {{whom}}.";

test("a prompt is fetched once and rendered from memory while it is fresh", async (t) => {
  const server = await FakeServer.start(t, prompt(BE));
  const client = server.client(t);

  await client.prompt(17, { label: "production" });
  const found = await client.prompt(17, { label: "production" });

  assert.equal(server.requests.length, 1);
  assert.equal(server.requests[0]?.url, "/api/v1/prompts/17?label=production");
  assert.equal(server.requests[0]?.headers.authorization, `Bearer ${API_KEY}`);
  assert.deepEqual(found.render({ tone: "formal", size: "big" }), {
    instruction: "Be formal to {{whom}}.",
    resolved: { tone: "formal" },
    ignored: ["size"],
    undefined: ["whom"],
    version: HASH,
    state: "fresh",
  });
});

test("what a caller does to a rendering changes no other", async (t) => {
  const client = (await FakeServer.start(t, prompt(BE))).client(t);
  const selections = { tone: "formal", size: "big" };
  const first = (await client.prompt(17)).render(selections);
  const before = structuredClone(first);

  Object.assign(first.resolved, { tone: "changed" });
  (first.ignored as string[]).push("changed");
  (first.undefined as string[]).push("changed");

  assert.deepEqual((await client.prompt(17)).render(selections), before);
});

test("many renderings of a version are each their own", async (t) => {
  const found = await (await FakeServer.start(t, prompt(BE))).client(t).prompt(17);
  for (let round = 0; round < 2; round++) {
    for (let key = 0; key < 2000; key++) assert.deepEqual(found.render({ [`key${key}`]: "a" }).ignored, [`key${key}`]);
  }
  assert.equal(found.render({ tone: "formal" }).instruction, "Be formal to {{whom}}.");
});

test("many that ask at once share one request", async (t) => {
  const server = await FakeServer.start(t, prompt(BE));
  const client = server.client(t);

  await Promise.all(Array.from({ length: 50 }, () => client.prompt(17)));

  assert.equal(server.requests.length, 1);
});

test("a prompt that is no longer fresh is served at once while one request refreshes it", async (t) => {
  const server = await FakeServer.start(t, prompt("old"));
  const client = server.client(t, { freshS: 0 });
  await client.prompt(17);
  server.answer = hang;

  const found = await Promise.all(Array.from({ length: 50 }, () => client.prompt(17)));
  await until(() => server.requests.length === 2);

  assert.deepEqual(new Set(found.map(({ state }) => state)), new Set(["stale"]));
  assert.equal(server.requests[1]?.headers["if-none-match"], `"${HASH.slice(0, 8)}"`);
});

test("a prompt that changed is served once it has come", async (t) => {
  const server = await FakeServer.start(t, prompt("old"));
  const client = server.client(t, { freshS: 0 });
  await client.prompt(17);
  server.answer = prompt("new", { hash: NEWER });

  assert.equal((await client.prompt(17)).value, "old");
  const found = await eventually(
    () => client.prompt(17),
    ({ value }) => value === "new",
  );

  assert.equal(found.version, NEWER);
});

test("a prompt that did not change is fresh again after 304", async (t) => {
  const server = await FakeServer.start(t, prompt("same"));
  const client = server.client(t, { freshS: 0.05 });
  await client.prompt(17);

  await eventually(
    () => client.prompt(17),
    ({ state }) => state === "stale",
  );
  const found = await eventually(
    () => client.prompt(17),
    ({ state }) => state === "fresh",
  );

  assert.ok(server.requests.length > 1);
  assert.equal(found.value, "same");
});

test("while the server is away what is known is served as stale, and it is asked ever more rarely", async (t) => {
  const server = await FakeServer.start(t, prompt(BE));
  const client = server.client(t, { freshS: 0 });
  await client.prompt(17);
  server.answer = refuse;
  await eventually(
    () => client.prompt(17),
    ({ problem }) => problem instanceof UnreachableError,
  );

  const found = await Promise.all(Array.from({ length: 1000 }, () => client.prompt(17)));

  assert.ok(found.every(({ state }) => state === "stale"));
  assert.ok(server.requests.length <= 3);
  assert.ok(found.every(({ ageS }) => ageS !== null && ageS >= 0));
});

test("Retry-After of a rate limit keeps prompts that are known from being asked for", async (t) => {
  const server = await FakeServer.start(t, (response, request) =>
    prompt("text", { id: Number(request.url.at(-1)) })(response, request),
  );
  const client = server.client(t, { freshS: 0 });
  await client.prompt(1);
  await client.prompt(2);
  server.answer = json({ error: "Too many requests." }, { status: 429, headers: { "Retry-After": "60" } });
  await eventually(
    () => client.prompt(1),
    ({ problem }) => problem instanceof RateLimitedError,
  );
  const asked = server.requests.length;

  assert.equal((await client.prompt(2)).state, "stale");
  assert.equal(server.requests.length, asked);
});

test("without anything to serve the error is thrown in the server's words", async (t) => {
  const server = await FakeServer.start(t, json({ error: "The API key is not valid." }, { status: 401 }));

  await assert.rejects(server.client(t).prompt(17), (error) => {
    assert.ok(error instanceof AuthenticationError);
    assert.equal(error.message, "The API key is not valid.");
    assert.equal(error.status, 401);
    return true;
  });
});

test("a fall-back text is served unchanged, with its state, while the server has given nothing", async (t) => {
  const server = await FakeServer.start(t, json({ error: "The prompt has no such label." }, { status: 404 }));

  const found = await server.client(t).prompt(17, { label: "production", fallback: "Be kind & brief." });

  assert.ok(found.problem instanceof NotFoundError);
  assert.deepEqual(found.render(), {
    instruction: "Be kind & brief.",
    resolved: {},
    ignored: [],
    undefined: [],
    version: null,
    state: "fallback",
  });
});

test("the JSON of a prompt is a fall-back with placeholders", async (t) => {
  const server = await FakeServer.start(t, refuse);
  const fallback = {
    value: BE,
    instructionFormat: "RAW",
    placeholderDefinitions: [{ key: "tone", values: [{ name: "calm", content: "calm", isDefault: true }] }],
  } as const;

  const found = await server.client(t).prompt(17, { fallback });

  assert.equal(found.render().instruction, "Be calm to {{whom}}.");
});

test("a slow server is waited for no longer than the first wait, and then what came is served", async (t) => {
  let answer = () => undefined as void;
  const server = await FakeServer.start(t, (response, request) => (answer = () => prompt("late")(response, request)));
  const client = server.client(t, { firstWaitS: 0.05 });

  assert.equal((await client.prompt(17, { fallback: "text" })).state, "fallback");
  await assert.rejects(client.prompt(17), UnreachableError);
  await until(() => server.requests.length === 1);
  answer();
  const found = await eventually(
    () => client.prompt(17, { fallback: "text" }),
    ({ state }) => state !== "fallback",
  );

  assert.equal(found.value, "late");
  assert.equal(server.requests.length, 1);
});

test("an abort ends the wait with its reason, and not the request that others wait for", async (t) => {
  let answer = () => undefined as void;
  const server = await FakeServer.start(t, (response, request) => (answer = () => prompt("text")(response, request)));
  const client = server.client(t, { firstWaitS: 60 });
  const controller = new AbortController();
  const other = client.prompt(17);

  const aborted = client.prompt(17, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
  await until(() => server.requests.length === 1);
  answer();

  assert.equal((await other).value, "text");
});

test("both versions of a label's split are fetched once, and each key finds its own", async (t) => {
  const label = { label: "production", commitHash: HASH, guarded: false, split: { commitHash: NEWER, share: 0.5 } };
  const server = await FakeServer.start(t, (response, request) => {
    const hash = request.url.split("commitHash=")[1];
    return hash ? prompt(hash === HASH ? "old" : "new", { hash })(response, request) : json(label)(response, request);
  });
  const client = server.client(t);
  const keys = Array.from({ length: 200 }, (_, index) => `user-${index}`);

  const values = await Promise.all(
    keys.map(async (splitKey) => (await client.prompt(17, { label: "production", splitKey })).value),
  );

  assert.deepEqual(
    server.requests.map(({ url }) => url),
    [
      "/api/v1/prompts/17/labels/production",
      `/api/v1/prompts/17?commitHash=${HASH}`,
      `/api/v1/prompts/17?commitHash=${NEWER}`,
    ],
  );
  const share = values.filter((value) => value === "new").length / values.length;
  assert.ok(share > 0.3 && share < 0.7);
});

test("of more than a thousand prompts the one that was used longest ago is forgotten", async (t) => {
  const server = await FakeServer.start(t, (response, request) =>
    prompt("text", { id: Number(request.url.split("/").at(-1)) })(response, request),
  );
  const client = server.client(t);
  for (const id of [1, 2, 1]) await client.prompt(id);
  for (let id = 3; id <= 1001; id++) await client.prompt(id);
  assert.equal(server.requests.length, 1001);

  await client.prompt(1);
  assert.equal(server.requests.length, 1001);
  await client.prompt(2);
  assert.equal(server.requests.length, 1002);
});
