// An OpenID provider on loopback: node provider.mjs MODULES PORT REDIRECT_URI. Any name and password sign in; "boss" is
// in the group of admins, "guest" in none.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, port, redirectUri] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(createRequire(`${modules}/`).resolve("oidc-provider")));
const groups = { boss: ["reprise-admins"], guest: [] };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "reprise", client_secret: "a secret/+:", redirect_uris: [redirectUri] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, name: `${id} by provider`, groups: groups[id] }),
  }),
});
provider.listen(Number(port), "127.0.0.1");
