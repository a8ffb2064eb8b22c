// What an application does with the package, under the strictest options of the compiler.
import { ApiError, type Piece, type Prompt, type Rendered, Reprise, type RunResult, type State } from "@reprise/client";

const client = new Reprise({ baseUrl: "http://127.0.0.1:8000", apiKey: "rp_key", cacheDir: ".prompts" });
const prompt: Prompt = await client.prompt(17, { label: "production", splitKey: "user", fallback: "Be kind." });
const rendered: Rendered = prompt.render({ tone: "formal" });
const state: State = rendered.state;
const version: string | null = rendered.version;
const resolved: string | null | undefined = rendered.resolved["tone"];

const result: RunResult = await client.run(17, "Where?", {
  placeholders: { tone: "formal" },
  signal: new AbortController().signal,
});
for await (const found of client.stream(17, "Where?")) {
  const shown: Piece | RunResult = found;
  if (shown.kind === "result") shown.answer.trim();
  else if (shown.kind === "tool_call") shown.toolCall.name.trim();
  else shown.text.trim();
}
try {
  await client.runResult(await client.startRun(17, "Where?"), { timeoutS: 10 });
} catch (error) {
  if (error instanceof ApiError) console.log(error.status, error.message, error.runId);
}
console.log(state, version, resolved, result.answer, result.nok);

// @ts-expect-error A selection is the name of a value.
prompt.render({ tone: 1 });
// @ts-expect-error An id is a number.
await client.prompt("17");
// @ts-expect-error No such option.
await client.prompt(17, { lable: "production" });
