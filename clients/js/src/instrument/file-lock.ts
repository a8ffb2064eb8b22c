/** A lock between processes: a file that names its holder, and that is taken over when the holder is dead or silent. */

import { rmSync } from "node:fs";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";

const SILENT_MS = 30_000;

/** It saves work and guards nothing: where two hold it at once, batches are sent twice, and stored once. */
export class FileLock {
  readonly #path: string;
  #held = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns whether the lock is held now. It must be kept by `touch`, or others get it after 30 seconds. */
  async acquire(): Promise<boolean> {
    this.#held = (await this.#create()) || ((await this.#isLeft()) && (await this.#takeOver()));
    return this.#held;
  }

  async touch(): Promise<void> {
    const now = new Date();
    await utimes(this.#path, now, now).catch(() => undefined);
  }

  async release(): Promise<void> {
    this.#held = false;
    await rm(this.#path, { force: true }).catch(() => undefined);
  }

  /** Releases the lock, if it is held, when the process ends. */
  releaseSync(): void {
    if (this.#held) rmSync(this.#path, { force: true });
  }

  async #create(): Promise<boolean> {
    try {
      await writeFile(this.#path, `${process.pid} ${hostname()}`, { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== "EEXIST";
    }
  }

  async #isLeft(): Promise<boolean> {
    const [pid, host] = (await readFile(this.#path, "utf8").catch(() => "")).split(" ");
    const touched = await stat(this.#path).catch(() => null);
    const silent = touched !== null && Date.now() - touched.mtimeMs > SILENT_MS;
    return silent || (host === hostname() && !isAlive(Number(pid)));
  }

  async #takeOver(): Promise<boolean> {
    await rm(this.#path, { force: true }).catch(() => undefined);
    return this.#create();
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
