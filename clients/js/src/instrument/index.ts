/** Sends what an agent does to Reprise: the spans of instrumentations, and what is recorded by hand. */

import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";

import { type Attributes, trace, type TracerProvider } from "@opentelemetry/api";

import { Delivery, type Pace } from "./delivery.js";
import { Endpoint } from "./endpoint.js";
import { RepriseSpanProcessor } from "./processor.js";
import { setCaptured } from "./recording.js";
import { type Limits, LIMITS, Spool } from "./spool.js";
import { warn } from "./warnings.js";

export { type AnswerOptions, conversation, type ConversationOptions, type RenderedPrompt } from "./recording.js";
export { runTool, tool, type Turn, turn } from "./recording.js";
export type { Limits, RepriseSpanProcessor };

/** The SDK's limit: a span with 128 attributes accepts no more. */
const MAX_ATTRIBUTES = 2000;

export interface InstrumentOptions {
  /** The id of the prompt that gets the spans. */
  readonly prompt?: number;
  /** Instead of `prompt`, the name of an agent, of which the first trace makes the prompt; by default `REPRISE_AGENT`. */
  readonly agent?: string;
  /** For programs that hold one conversation. */
  readonly conversation?: string;
  /** For programs that serve one user. */
  readonly user?: string;
  /** The commit hash of the prompt's version, for programs that use one. */
  readonly version?: string;
  /** `REPRISE_URL` unless given. */
  readonly baseUrl?: string;
  /** `REPRISE_API_KEY` unless given. */
  readonly apiKey?: string;
  /** Where spans are kept until Reprise has stored them; by default below `~/.local/state/reprise`. */
  readonly spoolDir?: string;
  readonly limits?: Partial<Limits>;
  readonly timeoutMs?: number;
  /** False leaves messages out of what `turn` and `tool` record. */
  readonly captureContent?: boolean;
  /** For tests. */
  readonly pace?: Pace;
}

/**
 * Returns a span processor that sends a provider's spans to the log of a prompt, or null when it can't be set up, which a
 * warning explains. For programs that make their provider themselves: `new NodeSDK({ spanProcessors: [...] })`.
 */
export function spanProcessor(options: InstrumentOptions = {}): RepriseSpanProcessor | null {
  setCaptured(options.captureContent ?? true);
  const endpoint = endpointOf(options);
  if (endpoint === null) return null;
  const spool = new Spool(folderOf(options.spoolDir, endpoint.url), { ...LIMITS, ...options.limits });
  const delivery = new Delivery(spool, endpoint, options.pace);
  // What an earlier process left is sent although this one may record nothing for long.
  delivery.start();
  return new RepriseSpanProcessor(delivery, spool, defaultsOf(options));
}

/**
 * Sends all spans of this process to the log of a prompt, from now on: it sets a tracer provider of OpenTelemetry, which
 * needs `@opentelemetry/sdk-trace-node`. Returns null when it can't, which a warning explains. Never rejects.
 */
export async function instrument(options: InstrumentOptions = {}): Promise<RepriseSpanProcessor | null> {
  const processor = spanProcessor(options);
  if (processor === null) return null;
  try {
    const { NodeTracerProvider } = await import("@opentelemetry/sdk-trace-node");
    const spanLimits = { attributeCountLimit: MAX_ATTRIBUTES };
    const provider = new NodeTracerProvider({ spanLimits, spanProcessors: [processor] });
    provider.register();
    if (currentProvider() === provider) return processor;
    warn("No spans are sent to Reprise: there is a tracer provider already. Give it what spanProcessor() returns.");
  } catch (error) {
    warn(`No spans are sent to Reprise: ${String(error)}`);
  }
  await processor.shutdown();
  return null;
}

function currentProvider(): TracerProvider {
  const found = trace.getTracerProvider() as TracerProvider & { getDelegate?: () => TracerProvider };
  return found.getDelegate?.() ?? found;
}

/** Returns the path of a prompt's spans or of an agent's; null unless exactly one of them is named. */
function pathOf({ prompt, agent: given }: InstrumentOptions): string | null {
  const agent = given ?? (prompt === undefined ? process.env["REPRISE_AGENT"] || undefined : undefined);
  if ((prompt === undefined) === (agent === undefined)) return null;
  const owner = prompt === undefined ? `agents/${encodeURIComponent(agent ?? "")}` : `prompts/${prompt}`;
  return `/api/public/${owner}/otel/v1/traces`;
}

function endpointOf(options: InstrumentOptions): Endpoint | null {
  const { baseUrl, apiKey, timeoutMs = 10_000 } = options;
  const path = pathOf(options);
  if (path === null) {
    warn("No spans are sent to Reprise: name either a prompt or an agent, or set REPRISE_AGENT");
    return null;
  }
  const url = baseUrl ?? process.env["REPRISE_URL"];
  const key = apiKey ?? process.env["REPRISE_API_KEY"];
  if (url && key) {
    return new Endpoint(`${url.replace(/\/+$/, "")}${path}`, key, timeoutMs);
  }
  warn(`No spans are sent to Reprise: ${url ? "REPRISE_API_KEY" : "REPRISE_URL"} is missing in the environment`);
  return null;
}

function defaultsOf({ conversation, user, version }: InstrumentOptions): Attributes {
  const known: Attributes = {};
  if (conversation !== undefined) known["gen_ai.conversation.id"] = conversation;
  if (user !== undefined) known["user.id"] = user;
  if (version !== undefined) known["service.prompt.version"] = version;
  return known;
}

/** Returns the folder of one address, so that no batch goes to another. Those of Python are in other folders. */
function folderOf(spoolDir: string | undefined, url: string): string {
  const state = process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state");
  const name = createHash("sha256").update(`js ${url}`).digest("hex").slice(0, 16);
  return join(spoolDir ?? join(state, "reprise", "spool"), name);
}
