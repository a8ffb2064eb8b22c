import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { promptText } from "../src/index.js";

const FILE = join(mkdtempSync(join(tmpdir(), "reprise-")), "prompt.md");

for (const [content, text] of [
  ["---\nprompt: 2\n---\nBe kind.\n", "Be kind.\n"],
  ["\uFEFF--- \r\nprompt: 2\r\n---\r\nBe\r\nkind.", "Be\nkind."],
  ["---\nprompt: 2\n---", ""],
  ["---\nprompt: 2\n---\nA\n---\nB", "A\n---\nB"],
  ["Be kind.", "Be kind."],
  ["---\nno end", "---\nno end"],
] as const) {
  void test(`the text of ${JSON.stringify(content)}`, () => {
    writeFileSync(FILE, content);
    assert.equal(promptText(FILE), text);
  });
}
