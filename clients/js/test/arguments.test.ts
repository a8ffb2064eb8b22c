/** What a client accepts, refuses and logs. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ConfigurationError, InvalidRequestError, Reprise } from "../src/index.js";
import { FakeServer, hang, HASH, prompt, refuse } from "./fake_server.js";

test("a logger that throws breaks nothing", async (t) => {
  const server = await FakeServer.start(t, refuse);
  const logger = { warn: () => assert.fail("no log") };

  assert.equal((await server.client(t, { logger }).prompt(17, { fallback: "text" })).value, "text");
});

test("a fall-back that can't be written as JSON is refused", async (t) => {
  const client = (await FakeServer.start(t, refuse)).client(t);
  const circle: Record<string, unknown> = { value: "text" };
  circle["self"] = circle;

  await assert.rejects(client.prompt(17, { fallback: circle as never }), ConfigurationError);
});

test("an outage is logged once, not with every request", async (t) => {
  const server = await FakeServer.start(t, refuse);
  const logged: string[] = [];
  const client = server.client(t, { logger: { warn: (message) => logged.push(message) } });

  for (let call = 0; call < 5; call++) await client.prompt(17, { fallback: "text" });

  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? "", /^reprise: prompt 17 \(newest\): UnreachableError: /);
});

test("arguments that no request can be made of are refused before one is sent", async (t) => {
  const server = await FakeServer.start(t, prompt("text"));
  const client = server.client(t);
  const wrong = [
    () => client.prompt(0),
    () => client.prompt(1.5),
    () => client.prompt("17" as unknown as number),
    () => client.prompt(17, { label: "../x" }),
    () => client.prompt(17, { label: "a", version: HASH }),
    () => client.prompt(17, { version: "short" }),
    () => client.prompt(17, { fallback: {} as never }),
    () => client.prompt(17, { label: null as never }),
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

test("a run that can't be sent is refused", async (t) => {
  const client = (await FakeServer.start(t, hang)).client(t);

  await assert.rejects(client.run(17, "Where?", { idempotencyKey: "a\nb" }), ConfigurationError);
  await assert.rejects(client.run(17, "Where?", { placeholders: { tone: 1 } as never }), InvalidRequestError);
  await assert.rejects(client.run(17, "Where?", { label: "a", draft: true }), ConfigurationError);
  await assert.rejects(client.runResult(0), ConfigurationError);
});
