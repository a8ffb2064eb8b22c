import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import type { InstructionFormat, PlaceholderDefinition } from "../src/index.js";
import { render } from "../src/rendering.js";

interface Vector {
  readonly about: string;
  readonly text: string;
  readonly format: InstructionFormat;
  readonly definitions: readonly PlaceholderDefinition[];
  readonly selections: { readonly [key: string]: string };
  readonly instruction: string;
  readonly resolved: { readonly [key: string]: string | null };
  readonly ignored: readonly string[];
  readonly undefined: readonly string[];
}

const VECTORS = new URL("../../../../tests/data/render/vectors.json", import.meta.url);

for (const vector of JSON.parse(readFileSync(VECTORS, "utf8")) as Vector[]) {
  test(`as the server renders it: ${vector.about}`, () => {
    const made = render(vector.text, vector.format, vector.definitions, vector.selections);

    assert.equal(made.instruction, vector.instruction);
    assert.deepEqual(Object.entries(made.resolved), Object.entries(vector.resolved));
    assert.deepEqual(made.ignored, vector.ignored);
    assert.deepEqual(made.undefined, vector.undefined);
  });
}
