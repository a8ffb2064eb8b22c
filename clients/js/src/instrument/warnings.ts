/** Warnings of Node, which an application may listen to. */

export function warn(message: string): void {
  process.emitWarning(message, "RepriseWarning");
}

/** Logs each warning once, whatever numbers and ids it has. */
export class Warnings {
  readonly #logged = new Set<string>();

  /** Warns, unless a similar warning was logged. */
  once(message: string): void {
    const kind = message.replaceAll(/[0-9a-f]{16,}|\d+/g, "#");
    if (this.#logged.has(kind) || this.#logged.size >= 100) return;
    this.#logged.add(kind);
    warn(message);
  }
}
