import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Delivery, STRIKES } from "../src/instrument/delivery.js";
import { Endpoint, textOf } from "../src/instrument/endpoint.js";
import { LIMITS, Spool } from "../src/instrument/spool.js";
import { until } from "./collector.js";
import { inWorld, KEY, PACE, record } from "./world.js";

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
    world.collector.always = { status, body: { code: 5, message: "There is no such prompt." } };
    const processor = await world.start();
    for (const name of ["one", "two"]) {
      record(name);
      assert(await processor.flush());
    }

    const words = `Reprise refused 1 spans, which are dropped: ${status}: There is no such prompt.`;
    assert.deepEqual(world.warnings, [words]);
  });
}

for (const status of [301, 401, 403, 404]) {
  inWorld(`what a proxy refuses with ${status} is sent when Reprise is behind it again`, async (world) => {
    world.collector.replies.push({ status, body: { message: "Forbidden" } });
    const processor = await world.start();
    record("one");

    await until(() => processor.flush());
    assert.equal(world.collector.requests.length, 2);
    assert.match(world.warnings.join(), new RegExp(`${status}: Forbidden.* are kept`));
  });
}

inWorld("a batch that can't be removed holds up no other", async (world) => {
  const processor = await world.start();
  await world.collector.stop();
  record("one");
  assert.equal(await processor.flush(), false);
  // Neither a user without rights nor a read-only disk is there in each test run; a folder can't be removed as a file.
  const [batch] = world.waiting;
  const unremovable = join(world.folder, dirname(batch ?? ""), `${"0".repeat(19)}1-1-${"a".repeat(16)}.json.gz`);
  mkdirSync(unremovable);

  await world.collector.start();

  await until(() => processor.flush());
  assert.deepEqual(world.collector.names, ["one"]);
});

inWorld("a batch at which the server fails again and again does not hold up the others", async (world) => {
  world.collector.replies.push(...Array.from({ length: STRIKES }, () => ({ status: 500 })));
  const processor = await world.start();
  record("poison");
  await processor.flush();
  record("one");

  await until(() => world.collector.names.includes("one"));
});

inWorld("rejected spans are logged once in the words of Reprise", async (world) => {
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

inWorld("only the owner may read recorded messages", async (world) => {
  await world.collector.stop();
  const processor = await world.start();
  record("one");
  await processor.flush();

  const path = join(world.folder, world.waiting[0]!);
  assert.equal(statSync(path).mode & 0o077, 0);
  assert(!readFileSync(path).includes(KEY));
});

test("an answer to a batch has a limit of bytes after decompression", async () => {
  const piece = new TextEncoder().encode("é".repeat(50_000));
  const answer = (pieces: number): Response => {
    let left = pieces;
    const pull = (stream: ReadableStreamDefaultController<Uint8Array>): void => {
      if (left-- > 0) stream.enqueue(piece);
      else stream.close();
    };
    return new Response(new ReadableStream({ pull }));
  };

  assert.equal(await textOf(answer(10)), "é".repeat(500_000));
  await assert.rejects(textOf(answer(Infinity)), /more than 1000000 bytes/);
  assert.equal(await textOf(new Response(null)), "");
});
