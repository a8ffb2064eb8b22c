/** A prompt as an application gets it, and what it renders to. */

import { InvalidRequestError, type RepriseError } from "./errors.js";
import { isObject, type InstructionFormat, type JsonObject, type PromptRecord, parseObject } from "./records.js";

export type State = "fresh" | "stale" | "fallback";

/** The names of values by the keys of their placeholders, such as `{tone: "formal"}`. */
export type Selections = { readonly [key: string]: string };

/** An instruction, and what became of the selections. */
export interface Rendered {
  readonly instruction: string;
  /** The name of the value used for each defined key of the text, null if it has none. */
  readonly resolved: { readonly [key: string]: string | null };
  /** The keys that were given and not used. */
  readonly ignored: readonly string[];
  /** The keys of the text that nothing defines; they stay in it. */
  readonly undefined: readonly string[];
  /** The prompt's version. */
  readonly version: string | null;
  /** The prompt's state. */
  readonly state: State;
}

/** A version of a prompt, as it was when the application asked for it. */
export class Prompt {
  /**
   * "fresh" when the server confirmed the version within the time that versions stay fresh, "stale" when it did so
   * earlier, and "fallback" for the text that the application brings.
   */
  readonly state: State;
  /** The error of the latest request for the prompt, null if it succeeded. */
  readonly problem: RepriseError | null;
  /** The seconds since the server confirmed the version, null if it never did. */
  readonly ageS: number | null;
  readonly #record: PromptRecord;

  /** @internal */
  constructor(record: PromptRecord, state: State, problem: RepriseError | null, ageS: number | null) {
    this.#record = record;
    this.state = state;
    this.problem = problem;
    this.ageS = ageS;
  }

  get id(): number {
    return this.#record.id;
  }

  get name(): string {
    return this.#record.name;
  }

  /** The commit hash, which traces carry as `service.prompt.version`; null for a draft. */
  get version(): string | null {
    return this.#record.version;
  }

  /** The text with its placeholders. */
  get value(): string {
    return this.#record.value;
  }

  get instructionFormat(): InstructionFormat {
    return this.#record.instructionFormat;
  }

  /** The model, with `id`, `name`, `vendor` and what is known of it. */
  get languageModel(): JsonObject {
    return objectIn(this.json(), "languageModel");
  }

  /** The model's configuration, such as `temperature` and `tools`. */
  get languageModelConfig(): JsonObject {
    return objectIn(this.json(), "languageModelConfig");
  }

  /** Returns the whole answer of the API, parsed again for each call. */
  json(): JsonObject {
    return parseObject(this.#record.body) ?? {};
  }

  /** Returns the instruction as the server renders it. */
  render(selections: Selections = {}): Rendered {
    const {
      instruction,
      resolved,
      ignored,
      undefined: unknown,
    } = this.#record.renderings.of(this.#record, checked(selections));
    return {
      instruction,
      resolved: { ...resolved },
      ignored: [...ignored],
      undefined: [...unknown],
      version: this.version,
      state: this.state,
    };
  }
}

function objectIn(json: JsonObject, name: string): JsonObject {
  const found = json[name];
  return isObject(found) ? found : {};
}

/** Returns the selections, which a program without types may give anything as; what the server refuses is refused. */
export function checked(selections: Selections): Selections {
  const wrong = Object.entries(selections).find(([, name]) => typeof name !== "string");
  if (wrong === undefined) return selections;
  const message = `placeholders: ${wrong[0]} needs the name of one of its values, as a string.`;
  throw new InvalidRequestError(message, { status: 400 });
}
