/**
 * Copies of prompts in a folder, for when the server is away at the start of a process.
 *
 * A file begins with an HMAC of its content, made with the API key: what is damaged, of another project or server, or
 * written by somebody without the key is no copy.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { threadId } from "node:worker_threads";

import { nameOf, type Wanted } from "./cache.js";
import type { Connection } from "./connection.js";
import { isListOf, isText, parseObject, parseRecord, type Snapshot } from "./records.js";

const FORMAT = 1;
const MAC_LENGTH = 64;

let written = 0;

/** The copies of one connection. No method throws: a folder that fails is logged once, and then has no copies. */
export class DiskCache {
  readonly #folder: string;
  readonly #connection: Connection;
  readonly #warn: (message: string) => void;
  #complained = false;

  constructor(folder: string, connection: Connection, warn: (message: string) => void) {
    this.#folder = folder;
    this.#connection = connection;
    this.#warn = warn;
  }

  /** Returns the copy and its age in seconds, or null. */
  async load(wanted: Wanted): Promise<{ snapshot: Snapshot; ageS: number } | null> {
    try {
      const file = await readFile(this.#path(wanted), "utf8");
      const content = file.slice(MAC_LENGTH + 1);
      return sameMac(file.slice(0, MAC_LENGTH), this.#mac(wanted, content)) ? parse(content, wanted.id) : null;
    } catch (problem) {
      if ((problem as NodeJS.ErrnoException).code !== "ENOENT") this.#complain(problem);
      return null;
    }
  }

  /** Writes the copy as a whole: a reader sees the old one or the new one. */
  async save(wanted: Wanted, snapshot: Snapshot): Promise<void> {
    const content = format(snapshot);
    const path = this.#path(wanted);
    // What a process that died has left is overwritten by a later one with its number.
    const temporary = `${path}.${process.pid}-${threadId}-${written++}.tmp`;
    try {
      await mkdir(this.#folder, { mode: 0o700, recursive: true });
      await rm(temporary, { force: true });
      await writeFile(temporary, `${this.#mac(wanted, content)}\n${content}`, { mode: 0o600, flag: "wx" });
      await rename(temporary, path);
    } catch (problem) {
      this.#complain(problem);
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }

  #path(wanted: Wanted): string {
    return join(this.#folder, `${this.#mac(wanted, "name").slice(0, 40)}.prompt`);
  }

  /** Returns the hexadecimal HMAC of a content and of what it is a copy of. */
  #mac(wanted: Wanted, content: string): string {
    const about = JSON.stringify([FORMAT, this.#connection.baseUrl, nameOf(wanted)]);
    return createHmac("sha256", this.#connection.apiKey()).update(`${about}\0${content}`).digest("hex");
  }

  #complain(problem: unknown): void {
    if (!this.#complained) this.#warn(`cacheDir: prompts are not kept on disk: ${String(problem)}`);
    this.#complained = true;
  }
}

function sameMac(found: string, right: string): boolean {
  return found.length === right.length && timingSafeEqual(Buffer.from(found, "latin1"), Buffer.from(right, "latin1"));
}

function format({ record, etag, split, share }: Snapshot): string {
  const records = [record, split].flatMap((one) => (one ? [one.body] : []));
  return JSON.stringify({ records, etag, share, storedAtMs: Date.now() });
}

function parse(content: string, id: number): { snapshot: Snapshot; ageS: number } | null {
  const { records, etag, share, storedAtMs } = parseObject(content) ?? {};
  if (!isListOf(records, isText) || !isText(etag) || typeof share !== "number" || typeof storedAtMs !== "number")
    return null;
  const [record, split = null] = records.map((body) => parseRecord(body, id));
  if (!record) return null;
  return { snapshot: { record, etag, split, share }, ageS: Math.max(0, (Date.now() - storedAtMs) / 1000) };
}
