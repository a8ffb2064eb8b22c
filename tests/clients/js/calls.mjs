// Makes the calls that its argument lists, one after the other, and prints what each gave or threw.
import { Reprise } from "@reprise/client";

const client = new Reprise({ firstWaitS: 60 });
const calls = {
  render: async ({ id, options, selections }) => (await client.prompt(id, options)).render(selections),
  run: ({ id, question, options }) => client.run(id, question, options),
  stream: ({ id, question, options }) => collected(client.stream(id, question, options)),
  later: async ({ id, question, options }) => client.runResult(await client.startRun(id, question, options)),
};

async function collected(events) {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}

const results = [];
for (const call of JSON.parse(process.argv[2])) {
  try {
    results.push(await calls[call.call](call));
  } catch ({ name, message, status }) {
    results.push({ error: name, message, status });
  }
}
console.log(JSON.stringify(results));
