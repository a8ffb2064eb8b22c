/** A new process for every test, as far as OpenTelemetry knows; its spans go to a fake of Reprise. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { context, trace } from "@opentelemetry/api";

import { instrument, type InstrumentOptions, type RepriseSpanProcessor } from "../src/instrument/index.js";
import type { FinishedSpan } from "../src/instrument/otlp-json.js";
import { Collector } from "./collector.js";

export const PACE = { firstRetryMs: 5, lastRetryMs: 20, idleMs: 60_000, busyMs: 5 };
export const KEY = "rp_test";

export class World {
  readonly warnings: string[] = [];
  readonly collector: Collector;
  readonly folder: string;
  readonly #started: RepriseSpanProcessor[] = [];

  constructor(test: TestContext, collector: Collector, folder: string) {
    this.collector = collector;
    this.folder = folder;
    test.mock.method(process, "emitWarning", (message: string) => void this.warnings.push(message));
  }

  /** Sets this process up again, as if it were another. */
  async start(options: Partial<InstrumentOptions> = {}): Promise<RepriseSpanProcessor> {
    trace.disable();
    context.disable();
    const known = { prompt: 17, baseUrl: this.collector.url, apiKey: KEY, spoolDir: this.folder, pace: PACE };
    const processor = await instrument({ ...known, ...options });
    assert(processor);
    this.#started.push(processor);
    return processor;
  }

  /** Ends what was started, then removes its folder, in which it may write until then. */
  async end(): Promise<void> {
    for (const processor of this.#started) await processor.shutdown();
    await rm(this.folder, { recursive: true, force: true });
  }

  get waiting(): string[] {
    const names = readdirSync(this.folder, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".json.gz")).sort();
  }
}

export function inWorld(name: string, run: (world: World) => Promise<void>): void {
  void test(name, async (test) => {
    const folder = await mkdtemp(join(tmpdir(), "reprise-"));
    const world = new World(test, await Collector.start(test), folder);
    test.after(() => world.end());
    await run(world);
  });
}

export function record(...names: string[]): void {
  for (const name of names) trace.getTracer("app").startSpan(name).end();
}

/** Returns a span that has ended, with these parts in place of valid ones. */
export function spanWith(parts: object): FinishedSpan {
  return {
    name: "one",
    kind: 0,
    spanContext: () => ({ traceId: "1".repeat(32), spanId: "1".repeat(16), traceFlags: 1 }),
    startTime: [1, 5],
    endTime: [2, 0],
    status: { code: 0 },
    attributes: {},
    links: [],
    events: [],
    resource: { attributes: {} },
    droppedAttributesCount: 0,
    ...parts,
  } as unknown as FinishedSpan;
}
