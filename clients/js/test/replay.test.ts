import assert from "node:assert/strict";
import { test } from "node:test";

import { ReplayedToolError, replayTool } from "../src/index.js";
import { FakeServer } from "./fake_server.js";

const refund = replayTool("refund", ({ order }: { order: string }) => ({ refunded: order }));

test("outside of a replay a call goes to the function", async () => {
  delete process.env["REPRISE_REPLAY_TOKEN"];
  assert.deepEqual(await refund({ order: "A-1" }), { refunded: "A-1" });
});

test("in a replay the function never runs", async (context) => {
  let sent: unknown = { result: { refunded: "B-2" }, error: null };
  let status = 200;
  const server = await FakeServer.start(context, (response) => {
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(sent));
  });
  Object.assign(process.env, { REPRISE_REPLAY_URL: server.url, REPRISE_REPLAY_TOKEN: "rpp_1" });
  context.after(() => delete process.env["REPRISE_REPLAY_TOKEN"]);

  assert.deepEqual(await refund({ order: "A-1" }), { refunded: "B-2" });
  assert.equal(server.requests[0]?.url, "/api/replay/tools");
  assert.equal(server.requests[0]?.headers.authorization, "Bearer rpp_1");
  assert.equal(server.requests[0]?.body, '{"name":"refund","arguments":{"order":"A-1"}}');

  sent = { result: null, error: "tool unavailable" };
  await assert.rejects(refund({ order: "A-1" }), new ReplayedToolError("refund: tool unavailable"));
  [status, sent] = [400, { error: "The replay ends." }];
  await assert.rejects(refund({ order: "A-1" }), /The replay ends/);
});

test("a redirection leads the call to no other host, and what is no answer of Reprise is an error", async (context) => {
  const other = await FakeServer.start(context, (response) => response.end('{"result": "forged", "error": null}'));
  let [status, sent] = [307, ""];
  const server = await FakeServer.start(context, (response) => {
    response.writeHead(status, { Location: `${other.url}/x` }).end(sent);
  });
  Object.assign(process.env, { REPRISE_REPLAY_URL: server.url, REPRISE_REPLAY_TOKEN: "rpp_1" });
  context.after(() => delete process.env["REPRISE_REPLAY_TOKEN"]);

  for (status of [301, 302, 303, 307, 308]) {
    await assert.rejects(refund({ order: "A-1" }), new RegExp(`refund: .*answered ${status}`));
  }
  assert.equal(other.requests.length, 0);

  status = 200;
  for (sent of ["", "[]", "<html>", "7", '{"result": 1}']) {
    await assert.rejects(refund({ order: "A-1" }), /did not answer as Reprise does/);
  }
  process.env["REPRISE_REPLAY_URL"] = "http://127.0.0.1:1";
  await assert.rejects(refund({ order: "A-1" }), ReplayedToolError);
});
