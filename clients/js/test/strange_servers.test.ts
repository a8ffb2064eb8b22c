/** Whatever answers at the address costs a client bounded memory and time, and reaches callers as a typed error. */

import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";

import { EventReader } from "../src/events.js";
import { ApiError, InvalidRequestError, Reprise, UnreachableError } from "../src/index.js";
import { hasMoreElements } from "../src/records.js";
import { FakeServer, HASH, json, prompt } from "./fake_server.js";

/** Returns the address of a server that answers with `head` and then a piece every now and then, without an end. */
async function trickling(t: TestContext, head: string, piece: string): Promise<string> {
  const server = createServer((socket) => {
    socket.write(head, "latin1");
    const timer = setInterval(() => socket.write(piece), 5);
    socket
      .on("close", () => clearInterval(timer))
      .on("error", () => undefined)
      .resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function client(baseUrl: string, timeoutS: number): Reprise {
  return new Reprise({ baseUrl, apiKey: "rp_test", timeoutS, firstWaitS: 60, logger: { warn: () => undefined } });
}

test("an answer without an end is given up", async (t) => {
  const url = await trickling(t, "HTTP/1.1 200 OK\r\n\r\n", " ");

  await assert.rejects(client(url, 0.2).prompt(17), new UnreachableError("No answer came within 0.2 s."));
});

test("lists, objects and members are counted outside of texts", () => {
  const [backslash, quote] = ["\\\\", "\\\""];
  for (const [text, count] of [
    ["{}", 1],
    ['{"a": [1, 2, {}]}', 5],
    [`{"a": "[{,${quote}[{,${backslash}", "b": ["${backslash}${quote},"]}`, 3],
    ['{"a": "[[[', 1],
    ["[".repeat(9), 9],
  ] as const) {
    assert.equal(hasMoreElements(text, count), false, text);
    assert.equal(hasMoreElements(text, count - 1), true, text);
  }
});

test("an answer of too many elements is given up before it is parsed", async (t) => {
  const found = { id: 17, value: "Hi", instructionFormat: "RAW", more: Array(600_000).fill({}) };
  const server = await FakeServer.start(t, json(found));

  await assert.rejects(client(server.url, 30).prompt(17), /did not answer as Reprise does/);
});

test("an answer that is no HTTP is an error", async (t) => {
  const url = await trickling(t, "\xff\0 SSH-2.0\r\n\r\n", "\0");

  await assert.rejects(client(url, 10).prompt(17), (error) => {
    assert.ok(error instanceof UnreachableError);
    assert.ok(error.message.startsWith(`${url}: `));
    return true;
  });
});

test("an answer that inflates beyond all bounds is given up", async (t) => {
  const bomb = gzipSync(Buffer.alloc(80_000_000, " "));
  const server = await FakeServer.start(t, (response) =>
    response.writeHead(200, { "Content-Encoding": "gzip" }).end(bomb),
  );

  await assert.rejects(
    server.client(t, { firstWaitS: 60, timeoutS: 60 }).prompt(17),
    /An answer of more than 64000000 bytes/,
  );
});

test("an event without an end is given up, and not an endless stream of short ones", () => {
  const reader = new EventReader(1000);
  const bytes = (text: string) => new TextEncoder().encode(text);
  for (let index = 0; index < 1000; index++) assert.equal([...reader.feed(bytes("data: {}\n\n: comment\n"))].length, 1);

  assert.throws(() => {
    for (let index = 0; index < 1000; index++) [...reader.feed(bytes("data: "))];
  }, /An event of more than 1000 characters/);
});

for (const body of ["", "<html>", '{"error": {"nested": 1}}', "[1]", "[".repeat(100_000)]) {
  test(`an error without the server's words (${body.slice(0, 9)}) names its status`, async (t) => {
    const server = await FakeServer.start(t, (response) => response.writeHead(418).end(body));

    await assert.rejects(server.client(t).prompt(17), (error) => {
      assert.ok(error instanceof InvalidRequestError);
      assert.equal(error.message, `${server.url}/api/v1/prompts/17 answered 418.`);
      return true;
    });
  });
}

test("words without an end are cut", async (t) => {
  const server = await FakeServer.start(t, json({ error: "x".repeat(200_000) }, { status: 400 }));

  await assert.rejects(server.client(t).prompt(17), new InvalidRequestError("x".repeat(2000), { status: 400 }));
});

for (const after of ["soon", "-1", "1e9", "9".repeat(400), "Wed, 21 Oct 2015 07:28:00 GMT", "\xff"]) {
  test(`a strange Retry-After (${after.slice(0, 9)}) breaks nothing`, async (t) => {
    const server = await FakeServer.start(
      t,
      json({ error: "Not now." }, { status: 429, headers: { "Retry-After": after } }),
    );

    await assert.rejects(server.client(t).prompt(17), (error) => {
      assert.ok(error instanceof ApiError);
      assert.equal(error.message, "Not now.");
      assert.ok((error.retryAfterS ?? 0) >= 0 && (error.retryAfterS ?? 0) <= 3600);
      return true;
    });
  });
}

for (const label of [
  { label: "other", commitHash: HASH, split: null },
  { label: "live", commitHash: 1, split: null },
  { label: "live", commitHash: HASH, split: [] },
  { label: "live", commitHash: HASH, split: { commitHash: HASH, share: "half" } },
  { label: "live", commitHash: HASH, split: { share: 0.5 } },
]) {
  test(`a label that can't be read (${JSON.stringify(label).slice(0, 40)}) is an error`, async (t) => {
    const server = await FakeServer.start(t, (response, request) =>
      (request.url.includes("/labels/") ? json(label) : prompt("text"))(response, request),
    );

    await assert.rejects(
      server.client(t).prompt(17, { label: "live", splitKey: "user" }),
      /did not answer as Reprise does/,
    );
  });
}

test("an answer that nests deeper than any prompt is no prompt", async (t) => {
  const server = await FakeServer.start(t, (response) => response.end(`{"id": 17, "value": ${"[".repeat(200_000)}`));

  await assert.rejects(server.client(t).prompt(17), /did not answer as Reprise does/);
});

for (const [what, content] of Object.entries({
  "a page": "<html>",
  "another prompt": JSON.stringify({ id: 18, value: "", instructionFormat: "RAW" }),
  "a list": "[]",
  "definitions that are none": JSON.stringify({
    id: 17,
    value: "",
    instructionFormat: "RAW",
    placeholderDefinitions: [1],
  }),
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
