/** The instruction that a model receives, made from a prompt's text as the server makes it. Pure: no I/O, no clock. */

import { toXml } from "./markdown/xml.js";
import type { InstructionFormat, PlaceholderDefinition, PlaceholderValue } from "./records.js";

const PLACEHOLDER = /\{\{([A-Za-z0-9_]{1,64})\}\}/g;

/** An instruction, and what became of the caller's selections. */
export interface Rendering {
  readonly instruction: string;
  /** The name of the value used for each key that is both in the text and defined, in order of first appearance. */
  readonly resolved: { readonly [key: string]: string | null };
  /** The keys sent that were not applied, in the order sent. */
  readonly ignored: readonly string[];
  /** The keys in the text that nothing defines. */
  readonly undefined: readonly string[];
}

/**
 * Renders a prompt's text; `selections` maps a placeholder's key to the name of one of its values.
 *
 * Throws an `InvalidRequestError` for XML of more lines and blocks than the server converts.
 */
export function render(
  text: string,
  format: InstructionFormat,
  definitions: readonly PlaceholderDefinition[],
  selections: { readonly [key: string]: string },
): Rendering {
  const filled = fill(text, definitions, selections);
  return format === "XML" ? { ...filled, instruction: toXml(filled.instruction) } : filled;
}

/** Puts the selected values, else the defaults, in place of `{{key}}`; a value's own braces stay literal. */
function fill(
  text: string,
  definitions: readonly PlaceholderDefinition[],
  selections: { readonly [key: string]: string },
): Rendering {
  const defined = new Map(definitions.map((definition) => [definition.key, definition]));
  const wanted = new Map(Object.entries(selections));
  const chosen = new Map<string, PlaceholderValue | null>();
  const missing = new Set<string>();
  for (const [, key = ""] of text.matchAll(PLACEHOLDER)) {
    const definition = defined.get(key);
    if (definition) chosen.set(key, choose(definition.values, wanted.get(key)));
    else missing.add(key);
  }
  const isApplied = ([key, name]: [string, string]) => chosen.get(key)?.name === name;
  return {
    instruction: text.replace(PLACEHOLDER, (whole, key: string) =>
      chosen.has(key) ? (chosen.get(key)?.content ?? "") : whole,
    ),
    resolved: Object.fromEntries([...chosen].map(([key, value]) => [key, value?.name ?? null])),
    ignored: [...wanted].filter((one) => !isApplied(one)).map(([key]) => key),
    undefined: [...missing],
  };
}

/** Returns the value of that name, else the default, else null. */
function choose(values: readonly PlaceholderValue[], name: string | undefined): PlaceholderValue | null {
  return values.find((value) => value.name === name) ?? values.find((value) => value.isDefault) ?? null;
}
