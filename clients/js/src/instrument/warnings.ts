/** Warnings of Node, which an application may listen to. */

export function warn(message: string): void {
  process.emitWarning(message, "RepriseWarning");
}

/** Tells each warning once, whatever numbers and ids it has. */
export class Warnings {
  readonly #told = new Set<string>();

  /** Warns, unless something like it was told. */
  once(message: string): void {
    const kind = message.replaceAll(/[0-9a-f]{16,}|\d+/g, "#");
    if (this.#told.has(kind) || this.#told.size >= 100) return;
    this.#told.add(kind);
    warn(message);
  }
}
