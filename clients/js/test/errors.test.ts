import assert from "node:assert/strict";
import { test } from "node:test";

import { RepriseError } from "../src/index.js";

test("an error of the client is an Error that names its class", () => {
  const error = new RepriseError("The key is not valid.");

  assert.ok(error instanceof Error);
  assert.equal(String(error), "RepriseError: The key is not valid.");
});
