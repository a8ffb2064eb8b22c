/** Copies of prompts on disk. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { UnreachableError } from "../src/index.js";
import { FakeServer, HASH, prompt, refuse, until } from "./fake_server.js";

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "reprise-"));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

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

test("a folder that can't be written is logged once, and costs no prompt", async (t) => {
  const cacheDir = join(await folder(t), "file");
  await writeFile(cacheDir, "");
  const server = await FakeServer.start(t, (response, request) =>
    prompt("text", { id: Number(request.url.at(-1)) })(response, request),
  );
  const logged: string[] = [];
  const client = server.client(t, { cacheDir, logger: { warn: (message) => logged.push(message) } });

  await client.prompt(1);
  await client.prompt(2);

  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? "", /cacheDir: prompts are not kept on disk/);
});

test("a prompt of 200 KB with NUL, emoji, markup and deep lists is kept and rendered unchanged", async (t) => {
  const value = `\0 😀 </instructions> {{tone}} ${"- ".repeat(1000)}\n`.repeat(100);
  const server = await FakeServer.start(t, prompt(value));
  const cacheDir = await folder(t);
  await server.client(t, { cacheDir }).prompt(17);
  server.answer = refuse;

  const found = await server.client(t, { cacheDir }).prompt(17);

  assert.equal(found.render().instruction, value.replaceAll("{{tone}}", "kind"));
});
