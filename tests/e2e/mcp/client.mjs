// Does as client.py does, with the official client of JavaScript, which is in the folder of the first argument.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";

const require = createRequire(`${process.argv[2]}/index.js`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");

const { server, requests } = JSON.parse(readFileSync(0, "utf8"));
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ ...server, stderr: "inherit" }));

async function ask(kind, name, args) {
  if (kind === "tool") {
    const { isError, content } = await client.callTool({ name, arguments: args });
    return { error: isError ?? false, text: content[0].text };
  }
  if (kind === "resource") return { error: false, text: (await client.readResource({ uri: name })).contents[0].text };
  if (kind === "prompt") {
    return { error: false, text: (await client.getPrompt({ name, arguments: args })).messages[0].content.text };
  }
  const { tools } = await client.listTools();
  const about = ({ description, annotations, inputSchema }) => [description, annotations.readOnlyHint, inputSchema];
  return { error: false, text: JSON.stringify(Object.fromEntries(tools.map((tool) => [tool.name, about(tool)]))) };
}

const answers = [];
for (const request of requests) {
  answers.push(await ask(...request).catch((refusal) => ({ error: true, text: String(refusal) })));
}
await client.close();
process.stdout.write(JSON.stringify(answers));
