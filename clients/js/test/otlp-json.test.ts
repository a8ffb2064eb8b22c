import assert from "node:assert/strict";
import { test } from "node:test";

import { batches, MAX_DEPTH } from "../src/instrument/otlp-json.js";
import { spanWith } from "./world.js";

/** Fails the test of a span that can't be encoded. */
function unexpected(error: unknown): never {
  throw error;
}

void test("a value that is nested deeply is cut, and every type has its field", () => {
  let deep: unknown = "end";
  for (let level = 0; level < 10_000; level += 1) deep = [deep];
  const values = { deep, part: 0.5, none: NaN, whole: 3, yes: true, nothing: null, bytes: new Uint8Array([1]), map: { a: "b" } };
  const span = spanWith({ attributes: values });

  const [batch] = [...batches([span], unexpected)];

  assert.equal(batch!.body.split("arrayValue").length - 1, MAX_DEPTH);
  assert.match(batch!.body, /"startTimeUnixNano":"1000000005"/);
  for (const field of ['{"doubleValue":0.5}', '{"doubleValue":"NaN"}', '{"intValue":"3"}', '{"bytesValue":"AQ=="}', "kvlist"]) {
    assert(batch!.body.includes(field), field);
  }
  assert.equal([...batches([span, span, span], unexpected, 100)].length, 3);
});

for (const [time, written] of [
  [[NaN, NaN], "0"],
  [[Infinity, NaN], "0"],
  [[undefined, undefined], "0"],
  [[1.5, 0], "1500000000"],
  [[1.5, 0.4], "1500000000"],
  [[-1, -5], "-1000000005"],
  [[1_700_000_000, 999_999_999], "1700000000999999999"],
] as const) {
  void test(`the time ${String(time)} is written as ${written}`, () => {
    const span = spanWith({ endTime: time, events: [{ name: "event", time }] });

    const [batch] = [...batches([span], unexpected)];

    assert(batch!.body.includes(`"endTimeUnixNano":"${written}"`));
    assert(batch!.body.includes(`"timeUnixNano":"${written}"`));
  });
}

void test("a span that can't be encoded is left out of its batch", () => {
  const errors: unknown[] = [];
  const spans = [spanWith({ name: "first" }), spanWith({ status: undefined }), spanWith({ name: "last" })];

  const [batch, ...others] = [...batches(spans, (error) => errors.push(error))];

  assert.deepEqual([batch!.spans, others.length, errors.length], [2, 0, 1]);
  assert.match(batch!.body, /"first".*"last"/);
});
