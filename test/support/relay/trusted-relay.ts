import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signClaims } from "../../../internal/auth/mint-token.ts";
import type { Json } from "../../../internal/base/json-fields.ts";
import type { TlsMaterial } from "../../../internal/rpc/common/tls.ts";
import { TestCa } from "../bridge/certificates.ts";
import { MountedSecret } from "../bridge/secret.ts";
import { NatsServer, oldestNats } from "./nats-server.ts";
import { RelayProcess, wholeLines } from "./relay-process.ts";

type Client = Pick<TlsMaterial, "cert" | "key">;

/** A request to the relay. */
export interface RelayRequest {
  /** Default: the path of the agent that the tokens name. */
  readonly path?: string;
  /** Default: an upgrade. */
  readonly method?: "GET" | "POST";
  /** Default: one header with a good token. */
  readonly authorization?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: a client of `town`; undefined: none. */
  readonly client?: Client | undefined;
}

interface Answered {
  /** 0: the connection ended without an answer. */
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** The lines of the audit log about this request. */
  readonly audited: readonly Json[];
}

export interface TrustedRelay extends AsyncDisposable {
  readonly nats: NatsServer;
  readonly relay: RelayProcess;
  readonly port: number;
  /** The CA of the relay and of its issuer `town`. `village` is another issuer. */
  readonly ca: TestCa;
  readonly village: TestCa;
  /** The TLS files of `town`'s client. */
  readonly client: TlsMaterial;
  /** The folder of `relay.yaml`, the keys and the audit log. */
  readonly folder: string;
  readonly keyFile: string;
  readonly keys: { readonly town: KeyPair; readonly village: KeyPair };
  newClient(): TlsMaterial;
  /** A token that `town` signs for its agent. */
  token(more?: Json, key?: KeyObject): string;
  ask(asked?: RelayRequest): Promise<Answered>;
  audited(): Promise<readonly Json[]>;
  revoke(client: Client): Promise<void>;
  /** Makes this `town`'s public key. */
  putKey(key: KeyObject): Promise<void>;
}

type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };

const PATH = "/acp/sess_123/coding?agent_id=agent_abc";
const NAMES = { uris: ["spiffe://town.example/client/agent"] };
const pem = (key: KeyObject) => key.export({ type: "spki", format: "pem" });
const seconds = () => Math.floor(Date.now() / 1000);

/** The claims of a token of `town`. */
export const townClaims = (more: Json = {}): Json => ({
  ...{ iss: "town", sub: "agent_abc", aud: "relay", project_id: "p", iat: seconds(), exp: seconds() + 120 },
  ...{ session_id: "sess_123", role: "coding", agent_id: "agent_abc", ...more },
});

/** A relay that requires certificates of `town` or `village` and a token that either has signed. */
export async function openTrustedRelay(): Promise<TrustedRelay> {
  const [ca, village] = [new TestCa("town"), new TestCa("village")];
  const own = { ...ca.issue({ ips: ["127.0.0.1"] }), ca: ca.pem + village.pem };
  const keys = { town: generateKeyPairSync("ed25519"), village: generateKeyPairSync("ed25519") };
  const folder = await mkdtemp(join(tmpdir(), "gt-door-"));
  const secret = await MountedSecret.create({ ...own, crl: ca.revoke([]) });
  const putKey = async (key: KeyObject) => {
    await writeFile(join(folder, "next.pub"), pem(key));
    await rename(join(folder, "next.pub"), join(folder, "town.pub"));
  };
  await putKey(keys.town.publicKey);
  await writeFile(join(folder, "village.pub"), pem(keys.village.publicKey));
  const keyFile = join(folder, "town.key");
  await writeFile(keyFile, keys.town.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  const config = join(folder, "relay.yaml");
  const village_ = { issuer: "village", key_path: "village.pub", sessions: ["village_*"], projects: ["p"] };
  const issuers = [{ issuer: "town", key_path: "town.pub" }, village_];
  const values = { tls: { dir: secret.dir }, auth: { jwt_public_keys: issuers }, audit: { path: "audit.log" } };
  await writeFile(config, JSON.stringify(values));
  const nats = await NatsServer.start(await oldestNats());
  const relay = await RelayProcess.start(nats.url, { args: ["--config", config] });
  const port = Number(new URL(await relay.url()).port);
  const client = ca.issue(NAMES);
  const token = (more: Json = {}, key = keys.town.privateKey) => signClaims(key, townClaims(more));
  const audited = async () => {
    const lines = wholeLines(await readFile(join(folder, "audit.log"), "utf8"));
    return lines.map((line) => JSON.parse(line) as Json);
  };
  const revoked: Client[] = [];
  return {
    ...{ nats, relay, port, ca, village, client, folder, keyFile, keys, token, audited, putKey },
    newClient: () => ca.issue(NAMES),
    ask: async (asked = {}) => {
      const id = randomUUID();
      const answer = await send(port, ca.pem, id, {
        ...{ authorization: [`Bearer ${token()}`], ...asked },
        client: "client" in asked ? asked.client : client,
      });
      return { ...answer, audited: (await audited()).filter((line) => line["correlation_id"] === id) };
    },
    revoke: async (one) => {
      revoked.push(one);
      await secret.put({ ...own, crl: ca.revoke(revoked) });
    },
    async [Symbol.asyncDispose]() {
      await relay[Symbol.asyncDispose]();
      await nats[Symbol.asyncDispose]();
      await secret[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const UPGRADE = {
  ...{ connection: "Upgrade", upgrade: "websocket" },
  ...{ "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" },
};

function send(
  port: number,
  ca: string,
  id: string,
  { path = PATH, method, authorization, headers: more, client }: RelayRequest,
): Promise<Omit<Answered, "audited">> {
  const named = { host: `127.0.0.1:${port}`, "x-request-id": id, ...(method === undefined && UPGRADE), ...more };
  const tokens = (authorization ?? []).flatMap((each) => ["authorization", each]);
  const headers = [...Object.entries(named).flat(), ...tokens];
  const options = { host: "127.0.0.1", port, path, method: method ?? "GET", headers, agent: false, ...client, ca };
  return new Promise((resolve) => {
    const req = request(options);
    req.on("error", (err) => resolve({ status: 0, headers: {}, text: err.message }));
    req.on("upgrade", (res, socket) => {
      socket.destroy();
      resolve({ status: res.statusCode ?? 0, headers: res.headers, text: "" });
    });
    req.on("response", (res) => {
      let text = "";
      res.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      res.on("error", () => {});
      res.on("close", () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }));
    });
    req.end();
  });
}
