/** The requests that read a prompt, and what their answers mean. */

import type { Wanted } from "./cache.js";
import { foreign, isObject, isText, parseRecord, type PromptRecord, type Snapshot } from "./records.js";
import type { Reply, Request } from "./transport.js";

type Send = (request: Request) => Promise<Reply>;

/** Returns what the server has now; `known`, which was remembered, where that is still the same. */
export async function read(wanted: Wanted, known: Snapshot | null, send: Send): Promise<Snapshot> {
  if (wanted.byKey && wanted.label !== undefined) return readLabel(wanted.id, wanted.label, known, send);
  const headers = known?.etag ? { "If-None-Match": known.etag } : {};
  const reply = await send({ method: "GET", path: `/api/v1/prompts/${wanted.id}${queryOf(wanted)}`, headers });
  if (reply.status === 304 && known !== null) return known;
  return { record: recordIn(reply, wanted.id), etag: reply.headers.get("ETag") ?? "", split: null, share: 0 };
}

/** Reads where a label points to, and then those of its versions that are not known: a version never changes. */
async function readLabel(id: number, label: string, known: Snapshot | null, send: Send): Promise<Snapshot> {
  const reply = (await send({ method: "GET", path: `/api/v1/prompts/${id}/labels/${label}` })).checked();
  const { label: name, commitHash, split = null } = reply.json();
  if (name !== label || !isText(commitHash)) throw foreign(reply.url);
  const record = await readVersion(id, commitHash, known, send);
  if (split === null) return { record, etag: "", split, share: 0 };
  const { commitHash: splitHash, share } = isObject(split) ? split : {};
  if (!isText(splitHash) || typeof share !== "number") throw foreign(reply.url);
  return { record, etag: "", split: await readVersion(id, splitHash, known, send), share };
}

async function readVersion(id: number, hash: string, known: Snapshot | null, send: Send): Promise<PromptRecord> {
  const record = [known?.record, known?.split].find((one) => one?.version === hash);
  if (record) return record;
  const path = `/api/v1/prompts/${id}?commitHash=${encodeURIComponent(hash)}`;
  return recordIn(await send({ method: "GET", path }), id);
}

function recordIn(reply: Reply, id: number): PromptRecord {
  const record = parseRecord(reply.checked().body, id);
  if (record === null) throw foreign(reply.url);
  return record;
}

function queryOf({ label, version, draft }: Wanted): string {
  if (draft) return "?productive=false";
  if (label !== undefined) return `?label=${label}`;
  return version === undefined ? "" : `?commitHash=${version}`;
}
