import { generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Interceptor } from "@connectrpc/connect";
import { signClaims } from "../../../internal/auth/mint-token.ts";
import type { MemberKind } from "../../../internal/threads/domain/types.ts";
import { ThreadsServer } from "./threads-server.ts";

export type Claims = Readonly<Record<string, unknown>>;

interface Audited {
  readonly event: string;
  readonly outcome: string;
  readonly call?: string;
  readonly code?: string;
  readonly reason?: string;
  readonly [field: string]: unknown;
}

/** A server with its own issuers: `people`, and `agents` for the workspace `w` and the role `worker`. */
export class TokenRoom implements AsyncDisposable {
  readonly server: ThreadsServer;
  readonly dir: string;
  readonly keys: Readonly<Record<MemberKind, KeyObject>>;

  private constructor(server: ThreadsServer, dir: string, keys: TokenRoom["keys"]) {
    this.server = server;
    this.dir = dir;
    this.keys = keys;
  }

  /** `yaml`: additional lines of `threads.yaml`; `flags`: additional flags of `threads serve`. */
  static async start(yaml = "", ...flags: string[]): Promise<TokenRoom> {
    const dir = await mkdtemp("/tmp/gt-token-room-");
    const keys = { person: await newKey(dir, "people"), agent: await newKey(dir, "agents") };
    const issuers = `auth:
  jwt_public_keys:
    - { issuer: people, key_path: people.pub, kind: person }
    - { issuer: agents, key_path: agents.pub, workspaces: [w], roles: [worker] }
audit: { path: audit.log }
`;
    await writeFile(join(dir, "threads.yaml"), issuers + yaml);
    const server = await ThreadsServer.start("--config", join(dir, "threads.yaml"), "--runtime", "none", ...flags);
    return new TokenRoom(server, dir, keys);
  }

  /** The claims of a valid token of an agent or a person. */
  claims(kind: MemberKind = "agent"): Claims {
    const now = Math.floor(Date.now() / 1000);
    const isAgent = kind === "agent";
    const [agent, role] = isAgent ? ["town/fixer", "worker"] : ["alice", "operator"];
    return {
      ...{ iss: isAgent ? "agents" : "people", sub: agent, aud: "threads", workspace_id: "w", agent_id: agent, role },
      ...{ session_id: "s-1", jti: randomUUID(), iat: now, exp: now + 250 },
    };
  }

  /** A token with the claims of a valid one, changed by `more`. */
  token(more: Claims = {}, kind: MemberKind = "agent"): string {
    return signClaims(this.keys[kind], { ...this.claims(kind), ...more });
  }

  /** The options of a transport that makes such a token for each call. */
  transportOptions(more: Claims = {}, kind: MemberKind = "agent") {
    const authorize: Interceptor = (next) => (req) => {
      req.header.set("authorization", `Bearer ${this.token(more, kind)}`);
      return next(req);
    };
    return { baseUrl: this.server.url, interceptors: [authorize] };
  }

  /** The audit log's lines. */
  get audited(): readonly Audited[] {
    const lines = readFileSync(join(this.dir, "audit.log"), "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Audited);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** A JWT with any header, and with exactly this payload text. */
export function signedText(key: KeyObject, header: object, payload: string): string {
  const text = [JSON.stringify(header), payload].map((one) => Buffer.from(one).toString("base64url")).join(".");
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}

async function newKey(dir: string, name: string): Promise<KeyObject> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  await writeFile(join(dir, `${name}.pub`), publicKey.export({ type: "spki", format: "pem" }));
  return privateKey;
}
