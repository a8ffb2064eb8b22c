// Renders what it reads, a list of the arguments of `render` in JSON, with the module that its argument names.

import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { render } = await import(pathToFileURL(process.argv[2]));

function rendered(args) {
  try {
    return render(...args);
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
}

console.log(JSON.stringify(JSON.parse(await text(process.stdin)).map(rendered)));
