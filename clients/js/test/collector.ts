/** A server on loopback that accepts batches of spans as Reprise does, or answers as a test wants. */

import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Never answers. */
  readonly hangs?: boolean;
}

export interface StoredSpan {
  readonly name: string;
  readonly traceId: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly status: { readonly code: number; readonly message: string };
  readonly events: { readonly name: string }[];
}

const STORED: Reply = { status: 200, body: { partialSuccess: {} } };

/** `replies` are the answers to the next requests, in order; `always` is the answer to later ones. */
export class Collector {
  readonly requests: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  /** The spans of the batches that were answered with 200, in the order they came. */
  readonly stored: StoredSpan[] = [];
  readonly replies: Reply[] = [];
  always: Reply = STORED;
  #server: Server | null = null;
  #port = 0;

  /** Starts a server, which ends with the test. */
  static async start(test: TestContext): Promise<Collector> {
    const collector = new Collector();
    await collector.start();
    test.after(() => collector.stop());
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get names(): string[] {
    return this.stored.map((span) => span.name);
  }

  /** The attributes of the stored span of this name. */
  attributes(name: string): Record<string, unknown> {
    const found = this.stored.find((span) => span.name === name);
    return Object.fromEntries((found?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
  }

  /** Starts again on the same port after `stop`. */
  async start(): Promise<void> {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      this.requests.push({ url: request.url ?? "", headers: request.headers });
      const reply = this.replies.shift() ?? this.always;
      if (reply.hangs) return;
      if (reply.status === 200) this.stored.push(...spansOf(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString())));
      response.writeHead(reply.status, { Connection: "close", ...reply.headers });
      response.end(JSON.stringify(reply.body ?? { partialSuccess: {} }));
    });
    await new Promise<void>((resolve) => this.#server!.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    server?.closeAllConnections();
    if (server) await new Promise<unknown>((resolve) => server.close(resolve));
  }
}

interface Export {
  readonly resourceSpans: { readonly scopeSpans: { readonly spans: StoredSpan[] }[] }[];
}

function spansOf(body: Export): StoredSpan[] {
  return body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

/** Waits until `condition` holds; fails after a minute. */
export async function until(condition: () => unknown): Promise<void> {
  for (let tries = 0; !(await condition()); tries += 1) {
    if (tries > 6000) throw new Error(`not within a minute: ${condition}`);
    await sleep(10);
  }
}
