import assert from "node:assert/strict";
import { readdir, readFile, stat, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { AuthenticationError, ConfigurationError, InvalidRequestError, NotFoundError, RateLimitedError, Reprise, UnreachableError } from "../src/index.js";
import { API_KEY, eventually, FakeServer, hang, HASH, json, prompt, refuse, until } from "./fake_server.js";

const NEWER = "b".repeat(64);
const BE = "Be {{tone}} to {{whom}}.";

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "reprise-"));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

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

test("a prompt that is no longer fresh is served at once while one request asks for it anew", async (t) => {
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
  const found = await eventually(() => client.prompt(17), ({ value }) => value === "new");

  assert.equal(found.version, NEWER);
});

test("a prompt that did not change is fresh again after 304", async (t) => {
  const server = await FakeServer.start(t, prompt("same"));
  const client = server.client(t, { freshS: 0.05 });
  await client.prompt(17);

  await eventually(() => client.prompt(17), ({ state }) => state === "stale");
  const found = await eventually(() => client.prompt(17), ({ state }) => state === "fresh");

  assert.ok(server.requests.length > 1);
  assert.equal(found.value, "same");
});

test("while the server is away what is known is served as stale, and it is asked ever more rarely", async (t) => {
  const server = await FakeServer.start(t, prompt(BE));
  const client = server.client(t, { freshS: 0 });
  await client.prompt(17);
  server.answer = refuse;
  await eventually(() => client.prompt(17), ({ problem }) => problem instanceof UnreachableError);

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
  await eventually(() => client.prompt(1), ({ problem }) => problem instanceof RateLimitedError);
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

test("a fall-back text is served as it is, and says so, while the server has given nothing", async (t) => {
  const server = await FakeServer.start(t, json({ error: "The prompt has no such label." }, { status: 404 }));

  const found = await server.client(t).prompt(17, { label: "production", fallback: "Be kind & brief." });

  assert.ok(found.problem instanceof NotFoundError);
  assert.deepEqual(found.render(), {
    instruction: "Be kind & brief.", resolved: {}, ignored: [], undefined: [], version: null, state: "fallback",
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
  answer();
  const found = await eventually(() => client.prompt(17, { fallback: "text" }), ({ state }) => state !== "fallback");

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

  const values = await Promise.all(keys.map(async (splitKey) => (await client.prompt(17, { label: "production", splitKey })).value));

  assert.deepEqual(server.requests.map(({ url }) => url), [
    "/api/v1/prompts/17/labels/production", `/api/v1/prompts/17?commitHash=${HASH}`, `/api/v1/prompts/17?commitHash=${NEWER}`,
  ]);
  const share = values.filter((value) => value === "new").length / values.length;
  assert.ok(share > 0.3 && share < 0.7);
});

test("a copy on disk serves a later process as stale while the server is away", async (t) => {
  const cacheDir = join(await folder(t), "made");
  const server = await FakeServer.start(t, prompt("Grüße 😀 \0"));
  await server.client(t, { cacheDir }).prompt(17);
  await until(() => server.requests.length === 1);
  const [name = ""] = await readdir(cacheDir);
  assert.equal((await stat(join(cacheDir, name))).mode & 0o777, 0o600);
  server.answer = refuse;

  const found = await server.client(t, { cacheDir }).prompt(17, { fallback: "text" });

  assert.equal(found.value, "Grüße 😀 \0");
  assert.equal(found.state, "stale");
});

test("a copy on disk asks with its ETag, and is fresh once the server confirmed it", async (t) => {
  const cacheDir = await folder(t);
  const server = await FakeServer.start(t, prompt("text"));
  await server.client(t, { cacheDir }).prompt(17);

  const found = await server.client(t, { cacheDir }).prompt(17);

  assert.equal(server.requests[1]?.headers["if-none-match"], `"${HASH.slice(0, 8)}"`);
  assert.equal(found.state, "fresh");
});

test("a damaged copy, another key's and another server's are no copies", async (t) => {
  const cacheDir = await folder(t);
  const server = await FakeServer.start(t, prompt("text"));
  await server.client(t, { cacheDir }).prompt(17);
  server.answer = refuse;

  await assert.rejects(server.client(t, { cacheDir, apiKey: "rp_other" }).prompt(17), UnreachableError);
  await assert.rejects(server.client(t, { cacheDir, baseUrl: `${server.url}/other` }).prompt(17), UnreachableError);
  const [name = ""] = await readdir(cacheDir);
  const whole = await readFile(join(cacheDir, name), "utf8");
  for (const damaged of [whole.slice(0, -5), whole.replace("text", "evil"), "", "{}", whole.slice(0, 64)]) {
    await writeFile(join(cacheDir, name), damaged);
    await assert.rejects(server.client(t, { cacheDir }).prompt(17), UnreachableError);
  }
});

test("many clients may keep their copies in one folder at once", async (t) => {
  const cacheDir = await folder(t);
  const server = await FakeServer.start(t, prompt("text ".repeat(10_000)));
  const clients = Array.from({ length: 20 }, () => server.client(t, { cacheDir, freshS: 0, firstWaitS: 60 }));

  const found = await Promise.all(clients.map((client) => client.prompt(17)));

  assert.ok(found.every(({ state, problem }) => state !== "fallback" && problem === null));
  assert.equal((await readdir(cacheDir)).length, 1);
  server.answer = refuse;
  assert.equal((await server.client(t, { cacheDir }).prompt(17)).value.length, 50_000);
});

test("a folder that can't be written is said once, and costs no prompt", async (t) => {
  const cacheDir = join(await folder(t), "file");
  await writeFile(cacheDir, "");
  const server = await FakeServer.start(t, (response, request) =>
    prompt("text", { id: Number(request.url.at(-1)) })(response, request),
  );
  const said: string[] = [];
  const client = server.client(t, { cacheDir, logger: { warn: (message) => said.push(message) } });

  await client.prompt(1);
  await client.prompt(2);

  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /cacheDir: prompts are not kept on disk/);
});

test("a logger that throws breaks nothing", async (t) => {
  const server = await FakeServer.start(t, refuse);
  const logger = { warn: () => assert.fail("no log") };

  assert.equal((await server.client(t, { logger }).prompt(17, { fallback: "text" })).value, "text");
});

test("a prompt of 200 KB with NUL, emoji, markup and deep lists is kept and rendered as it is", async (t) => {
  const value = `\0 😀 </instructions> {{tone}} ${"- ".repeat(1000)}\n`.repeat(100);
  const server = await FakeServer.start(t, prompt(value));
  const cacheDir = await folder(t);
  await server.client(t, { cacheDir }).prompt(17);
  server.answer = refuse;

  const found = await server.client(t, { cacheDir }).prompt(17);

  assert.equal(found.render().instruction, value.replaceAll("{{tone}}", "kind"));
});

test("an answer that nests deeper than any prompt is no prompt", async (t) => {
  const server = await FakeServer.start(t, (response) => response.end(`{"id": 17, "value": ${"[".repeat(200_000)}`));

  await assert.rejects(server.client(t).prompt(17), /did not answer as Reprise does/);
});

test("a fall-back that can't be written as JSON is refused", async (t) => {
  const client = (await FakeServer.start(t, refuse)).client(t);
  const circle: Record<string, unknown> = { value: "text" };
  circle["self"] = circle;

  await assert.rejects(client.prompt(17, { fallback: circle as never }), ConfigurationError);
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

test("an outage is said once, not with every request", async (t) => {
  const server = await FakeServer.start(t, refuse);
  const said: string[] = [];
  const client = server.client(t, { logger: { warn: (message) => said.push(message) } });

  for (let call = 0; call < 5; call++) await client.prompt(17, { fallback: "text" });

  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /^reprise: prompt 17 \(newest\): UnreachableError: /);
});

for (const [what, content] of Object.entries({
  "a page": "<html>", "another prompt": JSON.stringify({ id: 18, value: "", instructionFormat: "RAW" }),
  "a list": "[]", "definitions that are none": JSON.stringify({ id: 17, value: "", instructionFormat: "RAW", placeholderDefinitions: [1] }),
})) {
  test(`${what} in place of the prompt is no prompt`, async (t) => {
    const server = await FakeServer.start(t, (response) => response.end(content));

    await assert.rejects(server.client(t).prompt(17), /did not answer as Reprise does/);
  });
}

test("a redirection is not followed with the key", async (t) => {
  const server = await FakeServer.start(t, (response) => response.writeHead(302, { Location: "/elsewhere" }).end());

  await assert.rejects(server.client(t).prompt(17), /answered 302/);
  assert.equal(server.requests.length, 1);
});

test("arguments that no request can be made of are refused before one is sent", async (t) => {
  const server = await FakeServer.start(t, prompt("text"));
  const client = server.client(t);
  const wrong = [
    () => client.prompt(0), () => client.prompt(1.5), () => client.prompt("17" as unknown as number), () => client.prompt(17, { label: "../x" }),
    () => client.prompt(17, { label: "a", version: HASH }), () => client.prompt(17, { version: "short" }),
    () => client.prompt(17, { fallback: {} as never }), () => client.prompt(17, { label: null as never }),
  ];

  for (const one of wrong) await assert.rejects(one, ConfigurationError);
  const found = await client.prompt(17);
  assert.throws(() => found.render({ tone: 5 } as never), InvalidRequestError);
});

test("address and key are those of the environment unless they are given", (t) => {
  const before = { ...process.env };
  t.after(() => (process.env = before));
  process.env = { ...before, REPRISE_URL: "http://127.0.0.1:1/", REPRISE_API_KEY: "rp_environment" };

  new Reprise();
  assert.throws(() => new Reprise({ baseUrl: "ftp://host" }), /baseUrl: ftp:\/\/host is not the base URL/);
  assert.throws(() => new Reprise({ apiKey: "rp a" }), /apiKey/);
  assert.throws(() => new Reprise({ freshS: NaN }), /freshS: NaN is no number of seconds/);
  delete process.env["REPRISE_API_KEY"];
  assert.throws(() => new Reprise(), /set REPRISE_API_KEY/);
  delete process.env["REPRISE_URL"];
  assert.throws(() => new Reprise(), /set REPRISE_URL/);
});

test("a closed client serves what it knows", async (t) => {
  const server = await FakeServer.start(t, prompt("text"));
  const client = server.client(t, { freshS: 0 });
  await client.prompt(17);

  client.close();

  assert.equal((await client.prompt(17)).value, "text");
  await assert.rejects(client.prompt(18), /closed/);
});
