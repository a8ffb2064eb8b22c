/**
 * Keeps batches of spans as files until Reprise has stored them.
 *
 * A file gets its name when it is complete, so that a process may be killed at any line: what has a name can be sent, by
 * this process, by another that shares the folder, or by the next one. The files hold messages, so only their
 * owner may read them; they hold neither the key nor the address.
 */

import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

const NAME = /^(\d{20})-(\d{1,9})-[0-9a-f]{16}\.json\.gz$/;
const UNFINISHED = ".tmp";
const UNFINISHED_MAX_AGE_MS = 3_600_000;

/** How much of what could not be sent is kept. Of what is more, the oldest goes. */
export interface Limits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  readonly maxBatches: number;
}

export const LIMITS: Limits = { maxBytes: 256 * 1024 * 1024, maxAgeMs: 7 * 24 * 3_600_000, maxBatches: 20_000 };

/** The batches in one folder, the oldest first. Any number of processes may use the folder at once. */
export class Spool {
  readonly folder: string;
  readonly #limits: Limits;
  // The folder is counted before the first batch, and again after each eighth of what it may hold.
  #bytesUnchecked: number;
  #batchesUnchecked: number;
  readonly #unwanted = new Set<string>();

  constructor(folder: string, limits: Limits) {
    this.folder = folder;
    this.#limits = limits;
    this.#bytesUnchecked = limits.maxBytes;
    this.#batchesUnchecked = limits.maxBatches;
  }

  /** Keeps a batch; returns the spans of older batches that had to go. Rejects when it can't be written. */
  async put(body: Uint8Array, spans: number): Promise<number> {
    await mkdir(this.folder, { mode: 0o700, recursive: true });
    const path = join(this.folder, newName(spans));
    try {
      await writeFile(path + UNFINISHED, body, { mode: 0o600, flag: "wx" });
      await rename(path + UNFINISHED, path);
    } catch (error) {
      await rm(path + UNFINISHED, { force: true }).catch(() => undefined);
      throw error;
    }
    return this.#trimAtTimes(body.length);
  }

  /** Keeps a batch when the process ends, where nothing can be waited for. */
  putSync(body: Uint8Array, spans: number): void {
    mkdirSync(this.folder, { mode: 0o700, recursive: true });
    const path = join(this.folder, newName(spans));
    writeFileSync(path + UNFINISHED, body, { mode: 0o600, flag: "wx" });
    renameSync(path + UNFINISHED, path);
  }

  /** Returns the names of the batches, the oldest first; none where the folder can't be read. */
  async names(): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => []);
    return names.filter((name) => NAME.test(name) && !this.#unwanted.has(name)).sort();
  }

  /** Returns the body of a batch; null if another process has sent it meanwhile. */
  async read(name: string): Promise<Uint8Array<ArrayBuffer> | null> {
    return readFile(join(this.folder, name)).catch(() => null);
  }

  /**
   * Forgets a batch that was sent, or that is not wanted.
   *
   * The file stays where the disk has become read-only. The next process sends it again.
   */
  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true }).catch(() => this.#unwanted.add(name));
  }

  /** Removes what is more than the limits; returns the spans that were lost with it. */
  async trim(): Promise<number> {
    const { maxBytes, maxAgeMs, maxBatches } = this.#limits;
    const oldest = timestamp(Date.now() - maxAgeMs);
    let [bytes, batches, lost] = [0, 0, 0];
    for (const name of (await this.names()).reverse()) {
      bytes += (await this.#stat(name))?.size ?? 0;
      batches += 1;
      if (bytes > maxBytes || batches > maxBatches || name < oldest) {
        await this.remove(name);
        lost += spansOf(name);
      }
    }
    [this.#bytesUnchecked, this.#batchesUnchecked] = [0, 0];
    await this.#removeUnfinished();
    return lost;
  }

  async #trimAtTimes(added: number): Promise<number> {
    this.#bytesUnchecked += added;
    this.#batchesUnchecked += 1;
    const due = this.#bytesUnchecked * 8 > this.#limits.maxBytes;
    return due || this.#batchesUnchecked * 8 > this.#limits.maxBatches ? this.trim() : 0;
  }

  async #stat(name: string): Promise<{ size: number; mtimeMs: number } | null> {
    return stat(join(this.folder, name)).catch(() => null);
  }

  /** Removes what processes left that were killed while they wrote. */
  async #removeUnfinished(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names.filter((found) => found.endsWith(UNFINISHED))) {
      const found = await this.#stat(name);
      if (found && Date.now() - found.mtimeMs > UNFINISHED_MAX_AGE_MS) await this.remove(name);
    }
  }
}

/** Returns the number of spans in the batch of this name. */
export function spansOf(name: string): number {
  return Number(NAME.exec(name)?.[2] ?? 0);
}

let latest = 0n;

/** Returns a name that sorts after the names that this process gave before. */
function newName(spans: number): string {
  const now = BigInt(Date.now()) * 1_000_000n;
  latest = now > latest ? now : latest + 1n;
  return `${String(latest).padStart(20, "0")}-${spans}-${randomBytes(8).toString("hex")}.json.gz`;
}

function timestamp(milliseconds: number): string {
  return String(BigInt(Math.max(Math.round(milliseconds), 0)) * 1_000_000n).padStart(20, "0");
}
