/** A server on loopback that answers as a test wants. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Reprise, type RepriseOptions } from "../src/index.js";

export const API_KEY = "rp_test";
export const HASH = "a".repeat(64);

/** A request as it arrived. */
export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export type Answer = (response: ServerResponse, request: Received) => void;

export class FakeServer {
  readonly requests: Received[] = [];
  answer: Answer;
  readonly #server: Server;

  private constructor(answer: Answer) {
    this.answer = answer;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  /** Starts a server, which ends with the test. */
  static async start(test: TestContext, answer: Answer): Promise<FakeServer> {
    const server = new FakeServer(answer);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    test.after(() => server.stop());
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Returns a client of the server, which ends with the test and logs nothing. */
  client(test: TestContext, options: RepriseOptions = {}): Reprise {
    const client = new Reprise({ baseUrl: this.url, apiKey: API_KEY, logger: { warn: () => undefined }, ...options });
    test.after(() => client.close());
    return client;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url = "", headers } = request;
    const received = { method, url, headers, body: Buffer.concat(chunks).toString() };
    this.requests.push(received);
    this.answer(response, received);
  }
}

/** Returns an answer with this JSON. */
export function json(
  content: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Answer {
  return (response) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify(content));
  };
}

/** Returns an answer with the JSON of a prompt, and 304 to whoever has it. */
export function prompt(value: string, { hash = HASH, id = 17 }: { hash?: string; id?: number } = {}): Answer {
  const etag = `"${hash.slice(0, 8)}"`;
  return (response, request) => {
    if (request.headers["if-none-match"] === etag) {
      response.writeHead(304, { ETag: etag }).end();
      return;
    }
    const found = {
      id,
      name: "Support",
      value,
      instructionFormat: "RAW",
      commitHash: hash,
      placeholderDefinitions: TONE,
    };
    json(found, { headers: { ETag: etag } })(response, request);
  };
}

export const refuse: Answer = (response) => response.destroy();
export const hang: Answer = () => undefined;

const TONE = [
  {
    key: "tone",
    values: [
      { name: "friendly", content: "kind", isDefault: true },
      { name: "formal", content: "formal" },
    ],
  },
];

/** Returns when the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

/** Returns what is found once it fits. */
export async function eventually<T>(find: () => Promise<T>, fits: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await find();
    if (fits(found)) return found;
    await sleep(5);
  }
}
