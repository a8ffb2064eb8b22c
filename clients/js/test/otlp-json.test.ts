import assert from "node:assert/strict";
import { test } from "node:test";

import { batches, type FinishedSpan, MAX_DEPTH } from "../src/instrument/otlp-json.js";

void test("a value that is nested deeply is cut, and every type has its field", () => {
  let deep: unknown = "end";
  for (let level = 0; level < 10_000; level += 1) deep = [deep];
  const values = { deep, part: 0.5, none: NaN, whole: 3, yes: true, nothing: null, bytes: new Uint8Array([1]), map: { a: "b" } };
  const span = {
    name: "one",
    kind: 0,
    spanContext: () => ({ traceId: "1".repeat(32), spanId: "1".repeat(16), traceFlags: 1 }),
    startTime: [1, 5],
    endTime: [2, 0],
    status: { code: 0 },
    attributes: values,
    links: [],
    events: [],
    resource: { attributes: {} },
    droppedAttributesCount: 0,
  } as unknown as FinishedSpan;

  const [batch] = [...batches([span])];

  assert.equal(batch!.body.split("arrayValue").length - 1, MAX_DEPTH);
  assert.match(batch!.body, /"startTimeUnixNano":"1000000005"/);
  for (const field of ['{"doubleValue":0.5}', '{"doubleValue":"NaN"}', '{"intValue":"3"}', '{"bytesValue":"AQ=="}', "kvlist"]) {
    assert(batch!.body.includes(field), field);
  }
  assert.equal([...batches([span, span, span], 100)].length, 3);
});
