/** The renderings of a version, remembered, because they are always equal and a long one needs milliseconds. */

import type { PromptRecord } from "./records.js";
import { render, type Rendering } from "./rendering.js";

/** Of all renderings of a version together, about. */
const CHARACTERS_MAX = 500_000;
/** The size of a rendering without text. */
const OVERHEAD = 500;

export class Renderings {
  readonly #known = new Map<string, Rendering>();
  #characters = 0;

  /** Returns what the version renders to; callers must not change it. */
  of(version: PromptRecord, selections: { readonly [key: string]: string }): Rendering {
    const key = JSON.stringify(Object.entries(selections));
    const found =
      this.#known.get(key) ?? render(version.value, version.instructionFormat, version.definitions, selections);
    if (!this.#known.has(key)) this.#remember(key, found);
    return found;
  }

  #remember(key: string, found: Rendering): void {
    this.#characters += key.length + found.instruction.length + OVERHEAD;
    if (this.#characters > CHARACTERS_MAX) {
      this.#known.clear();
      this.#characters = key.length + found.instruction.length + OVERHEAD;
    }
    this.#known.set(key, found);
  }
}
