/** Prompts as the server answers them, checked so far that rendering them can't fail. */

import { ConfigurationError, UnreachableError } from "./errors.js";
import { Renderings } from "./renderings.js";
import { position } from "./splits.js";

/** Lists, objects and members of an answer: the API's have at most a quarter of it. */
const ELEMENTS_MAX = 1_000_000;

export type InstructionFormat = "XML" | "RAW";
export type JsonObject = { [name: string]: unknown };

/** A named text that can replace a placeholder; at most one of a placeholder is its default. */
export interface PlaceholderValue {
  readonly name: string;
  readonly content: string;
  readonly isDefault?: boolean;
}

/** A key that a text may hold, with the values that a caller chooses from by name. */
export interface PlaceholderDefinition {
  readonly key: string;
  readonly description?: string;
  readonly values: readonly PlaceholderValue[];
}

/** The JSON of a prompt as the API answers it, of which `value` is enough for a fall-back. */
export interface PromptJson {
  readonly value: string;
  readonly name?: string;
  readonly instructionFormat?: InstructionFormat;
  readonly commitHash?: string | null;
  readonly placeholderDefinitions?: readonly PlaceholderDefinition[];
  readonly [name: string]: unknown;
}

/** A text that is used unchanged, or the JSON of a prompt. */
export type Fallback = string | PromptJson;

/** The JSON of a prompt, of which nothing can change what others see: `body` is parsed again for each of them. */
export interface PromptRecord {
  readonly body: string;
  readonly id: number;
  readonly name: string;
  readonly value: string;
  readonly instructionFormat: InstructionFormat;
  readonly definitions: readonly PlaceholderDefinition[];
  readonly version: string | null;
  readonly renderings: Renderings;
}

/** A version of a prompt, or the two that a label's split gives: `split` to the keys below `share`. */
export interface Snapshot {
  readonly record: PromptRecord;
  readonly etag: string;
  readonly split: PromptRecord | null;
  readonly share: number;
}

/** Returns the record of this prompt; null for a text that is not one. */
export function parseRecord(body: string, id: number): PromptRecord | null {
  const found = parseObject(body);
  if (found === null || found["id"] !== id) return null;
  const {
    name,
    value,
    instructionFormat,
    commitHash: version = null,
    placeholderDefinitions: definitions = [],
  } = found;
  if (typeof value !== "string" || !isFormat(instructionFormat)) return null;
  if (version !== null && typeof version !== "string") return null;
  if (!isListOf(definitions, isDefinition)) return null;
  const renderings = new Renderings();
  return { body, id, name: isText(name) ? name : "", value, instructionFormat, definitions, version, renderings };
}

/** Returns the record of a fall-back. */
export function recordOfFallback(fallback: Fallback, id: number): PromptRecord {
  const raw = typeof fallback === "string" ? { value: fallback, instructionFormat: "RAW" } : fallback;
  const record = parseRecord(toJson({ instructionFormat: "XML", ...raw, id }, "fallback"), id);
  if (record === null) throw new ConfigurationError("fallback: neither a text nor the JSON of a prompt.");
  return record;
}

/** Returns the record of a snapshot that a key gets; a caller without a key gets the label's own. */
export function recordFor(snapshot: Snapshot, label: string | undefined, splitKey: string | undefined): PromptRecord {
  if (snapshot.split === null || label === undefined || !splitKey) return snapshot.record;
  return position(label, splitKey) < snapshot.share ? snapshot.split : snapshot.record;
}

/** Returns a value as JSON; what has none, such as a circle, is the caller's mistake. */
export function toJson(value: unknown, name: string): string {
  try {
    return JSON.stringify(value);
  } catch (problem) {
    throw new ConfigurationError(`${name}: it can't be written as JSON.`, { cause: problem });
  }
}

/** Returns a JSON object; null for other texts. */
export function parseObject(text: string): JsonObject | null {
  if (hasMoreElements(text, ELEMENTS_MAX)) return null;
  try {
    const found: unknown = JSON.parse(text);
    return isObject(found) ? found : null;
  } catch {
    return null;
  }
}

/** Returns whether a JSON text has more lists, objects and members than `most`, which would hold up the event loop. */
export function hasMoreElements(text: string, most: number): boolean {
  let [count, isWithinText] = [0, false];
  for (let at = 0; at < text.length && count <= most; at++) {
    const sign = text[at];
    if (sign === '"') isWithinText = !isWithinText;
    else if (isWithinText) at += sign === "\\" ? 1 : 0;
    else count += sign === "," || sign === "[" || sign === "{" ? 1 : 0;
  }
  return count > most;
}

/** Returns the error for what another server answers. */
export function foreign(url: string): UnreachableError {
  return new UnreachableError(`${url} did not answer as Reprise does: is it the base URL of an instance?`);
}

export function isObject(found: unknown): found is JsonObject {
  return typeof found === "object" && found !== null && !Array.isArray(found);
}

export function isListOf<T>(found: unknown, isOne: (one: unknown) => one is T): found is T[] {
  return Array.isArray(found) && found.every(isOne);
}

export function isText(found: unknown): found is string {
  return typeof found === "string";
}

function isFormat(found: unknown): found is InstructionFormat {
  return found === "XML" || found === "RAW";
}

function isDefinition(found: unknown): found is PlaceholderDefinition {
  return isObject(found) && isText(found["key"]) && isListOf(found["values"], isValue);
}

function isValue(found: unknown): found is PlaceholderValue {
  return isObject(found) && isText(found["name"]) && isText(found["content"]);
}
