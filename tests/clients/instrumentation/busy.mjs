// Records spans, numbered, as fast as it may, until its input ends. Run by tests, which kill it.

import { setTimeout as sleep } from "node:timers/promises";

import { trace } from "@opentelemetry/api";
import { instrument } from "@reprise/client/instrument";

await instrument({ prompt: 17 });
let isOpen = true;
process.stdin.on("end", () => (isOpen = false)).resume();
for (let number = 0; isOpen; number += 1) {
  trace.getTracer("busy").startSpan(`${process.argv[2]} ${number}`).end();
  await sleep(1);
}
