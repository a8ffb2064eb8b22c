// Counts the steps that the rendering of texts needs: how often each block of the module's code runs.
// Reads a list of texts in JSON; the argument names the folder of the package's modules.

import { Session } from "node:inspector/promises";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.argv[2]).href;
const { render } = await import(`${folder}/rendering.js`);
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

async function stepsOf(value) {
  await session.post("Profiler.takePreciseCoverage"); // and begins to count again
  render(value, "XML", [], {});
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const own = result.filter((script) => script.url.startsWith(folder));
  const blocks = own.flatMap((script) => script.functions).flatMap((each) => each.ranges);
  return blocks.reduce((sum, block) => sum + block.count, 0);
}

const steps = [];
for (const value of JSON.parse(await text(process.stdin))) steps.push(await stepsOf(value));
console.log(JSON.stringify(steps));
