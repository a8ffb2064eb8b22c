/** The address of a server and the key that a client sends to it. */

import { ConfigurationError } from "./errors.js";

/** `baseUrl` has no slash at its end. */
export class Connection {
  readonly baseUrl: string;
  readonly #apiKey: string;

  constructor(baseUrl: string, apiKey: string) {
    this.baseUrl = baseUrl;
    this.#apiKey = apiKey;
  }

  /** Returns the connection that the arguments name, or else the environment. */
  static of(baseUrl?: string, apiKey?: string): Connection {
    const url = (baseUrl || process.env["REPRISE_URL"] || "").trim().replace(/\/+$/, "");
    const key = (apiKey || process.env["REPRISE_API_KEY"] || "").trim();
    if (!url) throw new ConfigurationError("Give baseUrl, or set REPRISE_URL, to the base URL of the instance.");
    if (!isHttp(url)) {
      throw new ConfigurationError(`baseUrl: ${url} is not the base URL of an instance, such as http://host:8000.`);
    }
    if (!key)
      throw new ConfigurationError("Give apiKey, or set REPRISE_API_KEY, to an API key of the prompt's project.");
    if (!/^[!-~]+$/.test(key)) throw new ConfigurationError("apiKey: an API key has only visible ASCII characters.");
    return new Connection(url, key);
  }

  /** The key, which no log shows by chance: it is no property. */
  apiKey(): string {
    return this.#apiKey;
  }

  headers(): { [name: string]: string } {
    return { Authorization: `Bearer ${this.#apiKey}`, Accept: "application/json" };
  }
}

/** Returns whether `fetch` accepts the address: it refuses one with a user or a password. */
function isHttp(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, search, hash, username, password } = new URL(url);
  return ["http:", "https:"].includes(protocol) && !(search || hash || username || password);
}
