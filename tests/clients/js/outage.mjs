// Renders a prompt a hundred times a second until its input ends. Prints when the server goes away and comes back, and at
// the end what the calls were like.
import { Reprise } from "@reprise/client";

const id = Number(process.argv[2]);
const client = new Reprise({ freshS: 0.2, timeoutS: 1, firstWaitS: 60, logger: { warn() {} } });
const seen = { calls: 0, failed: 0, whileAway: 0, staleWhileAway: 0, times: [] };
let away = true;

async function renderOnce() {
  const begun = performance.now();
  const prompt = await client.prompt(id);
  const { state } = prompt.render({ tone: "formal" });
  seen.times.push(performance.now() - begun);
  if (prompt.problem !== null) {
    seen.whileAway += 1;
    seen.staleWhileAway += state === "stale";
  }
  if (away !== (prompt.problem !== null)) console.log((away = !away) ? "away" : "there");
  if (away && seen.whileAway % 300 === 0) console.log("still away");
}

await renderOnce();
seen.times = []; // the first call waits for the server
const timer = setInterval(() => {
  seen.calls += 1;
  renderOnce().catch(() => (seen.failed += 1));
}, 10);

process.stdin.on("end", () => {
  clearInterval(timer);
  const sorted = seen.times.sort((one, other) => one - other);
  const [median, p99, slowest] = [0.5, 0.99, 1].map((share) => sorted[Math.ceil(share * sorted.length) - 1]);
  console.log(JSON.stringify({ ...seen, times: undefined, ms: { median, p99, slowest } }));
});
process.stdin.resume();
