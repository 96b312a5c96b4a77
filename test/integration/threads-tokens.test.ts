import { createHmac, generateKeyPairSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { mintToken, signClaims } from "../../internal/auth/mint-token.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { ThreadsService } from "../../internal/gen/threads/v1/threads_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import { eventually } from "../support/eventually.ts";
import { McpCaller } from "../support/threads/mcp-caller.ts";
import { type Claims, signedText, TokenRoom } from "../support/threads/token-room.ts";

const LONG = AbortSignal.timeout(900_000);
const WAIT_MS = 60_000;

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let room: TokenRoom;
beforeAll(async () => {
  room = await TokenRoom.start();
});
afterAll(async () => {
  await room?.[Symbol.asyncDispose]();
});

const MCP = "/v1/mcp";
const RPC = "/threads.v1.ThreadsService/Whoami";
const CALLS: Readonly<Record<string, string>> = {
  [MCP]: "threads.mcp/POST /v1/mcp",
  [RPC]: "threads.v1.ThreadsService/Whoami",
};

/** Makes one call with exactly these `authorization` headers. */
function ask(
  path: string,
  authorization: readonly string[],
): Promise<{ readonly status: number; readonly text: string }> {
  const body = path === MCP ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : "{}";
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly text: string }>();
  const headers = [
    ...["content-type", "application/json", "accept", "application/json, text/event-stream"],
    ...["host", "localhost", "content-length", String(body.length)],
    ...authorization.flatMap((one) => ["authorization", one]),
  ];
  const req = request(`${room.server.url}${path}`, { method: "POST", headers }, (res) => {
    let text = "";
    res.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    res.on("end", () => resolve({ status: res.statusCode ?? 0, text }));
  });
  req.on("error", reject).end(body);
  return promise;
}

const HEADER = { alg: "EdDSA", typ: "JWT" };
const bearer = (token: string) => [`Bearer ${token}`];
const without = (name: string) => () => {
  const { [name]: _left, ...rest } = room.claims();
  return bearer(signClaims(room.keys.agent, rest));
};
const saying = (more: Claims, kind?: "person") => () => bearer(room.token(more, kind));
const lasting = (seconds: number, kind?: "person") => () => {
  const iat = Math.floor(Date.now() / 1000);
  return bearer(room.token({ iat, exp: iat + seconds }, kind));
};
const at = (iat: number, exp: number) => () => {
  const now = Math.floor(Date.now() / 1000);
  return bearer(room.token({ iat: now + iat, exp: now + exp }));
};
const under = (header: object) => () => bearer(signedText(room.keys.agent, header, JSON.stringify(room.claims())));

const WRONG: readonly (readonly [string, () => readonly string[]])[] = [
  ["none", () => []],
  ["of another scheme", () => ["Basic dG93bjpmaXhlcg=="]],
  ["that is empty", () => ["Bearer "]],
  ["twice", () => [...bearer(room.token()), ...bearer(room.token())]],
  ["that is not a JWT", () => bearer("abc.def.ghi")],
  ["without a signature", () => bearer(room.token().split(".").slice(0, 2).join("."))],
  ["of more than 4 KiB", saying({ sub: "x".repeat(4000) })],
  ["with alg none", under({ alg: "none", typ: "JWT" })],
  [
    "with HMAC by the public key",
    () => {
      const [head, payload] = ['{"alg":"HS256","typ":"JWT"}', JSON.stringify(room.claims())];
      const text = `${Buffer.from(head).toString("base64url")}.${Buffer.from(payload).toString("base64url")}`;
      const key = readFileSync(join(room.dir, "agents.pub"));
      return bearer(`${text}.${createHmac("sha256", key).update(text).digest("base64url")}`);
    },
  ],
  ["that names its key", under({ ...HEADER, kid: "1" })],
  ["with a critical header", under({ ...HEADER, crit: ["x"] })],
  ["of another type", under({ alg: "EdDSA", typ: "at+jwt" })],
  [
    "whose claims were changed",
    () => {
      const [head, , signature] = room.token().split(".");
      const payload = Buffer.from(JSON.stringify({ ...room.claims(), role: "reviewer" })).toString("base64url");
      return bearer(`${head}.${payload}.${signature}`);
    },
  ],
  [
    "of a key that is not its issuer's",
    () => bearer(signClaims(generateKeyPairSync("ed25519").privateKey, room.claims())),
  ],
  ["of one issuer in another's name", () => bearer(signClaims(room.keys.agent, room.claims("person")))],
  ["of an unknown issuer", saying({ iss: "others" })],
  ["for another audience", saying({ aud: "bridge" })],
  [
    "of a bridge",
    () => {
      const whom = { issuer: "agents", subject: "town/fixer", project: "w", audience: "threads", ttlMs: 120_000 };
      return bearer(mintToken(room.keys.agent, whom, Date.now()));
    },
  ],
  ...["iss", "sub", "aud", "workspace_id", "agent_id", "role", "session_id", "jti", "iat", "exp"].map(
    (name) => [`without ${name}`, without(name)] as const,
  ),
  ["whose agent_id is not an address", saying({ agent_id: "../fixer" })],
  ["whose workspace_id is not a name", saying({ workspace_id: ["w"] })],
  ["whose role is a list", saying({ role: ["worker"] })],
  [
    "with a duplicate claim",
    () => {
      const claims = JSON.stringify(room.claims()).replace("{", '{"role":"operator",');
      return bearer(signedText(room.keys.agent, HEADER, claims));
    },
  ],
  ["whose project_id is another workspace", saying({ project_id: "v" })],
  ["that has expired", at(-200, -1)],
  ["that expires before it begins", at(10, 5)],
  ["from the future", at(100, 200)],
  ["that is not valid yet", saying({ nbf: Math.floor(Date.now() / 1000) + 3000 })],
  ["of an agent for more than an hour", lasting(3601)],
  ["of a person for more than five minutes", lasting(301, "person")],
  ["of operator, from an agents' issuer", saying({ role: "operator" })],
  ["of a role that its issuer may not say", saying({ role: "reviewer" })],
  ["of the role system", saying({ role: "system" }, "person")],
  ["of a workspace that its issuer may not speak for", saying({ workspace_id: "v" })],
  ["bound to a certificate", saying({ cnf: { "x5t#S256": "A".repeat(43) } })],
  ["bound to something else", saying({ cnf: { jkt: "A".repeat(43) } })],
  ["bound to nothing", saying({ cnf: {} })],
];

/** Expects 401 and one record for a call, and its token nowhere. */
async function refused(path: string, headers: readonly string[]): Promise<void> {
  const before = room.audited.length;
  const { status, text } = await ask(path, headers);
  expect([status, text.includes("UNAUTHORIZED")]).toEqual([401, true]);
  const records = room.audited.slice(before);
  expect(records).toEqual([
    expect.objectContaining({ event: "call", outcome: "refused", call: CALLS[path], code: "unauthenticated" }),
  ]);
  const shown = headers.map((one) => one.split(" ")[1] ?? "").filter((one) => one.length > 20);
  for (const one of shown) expect(`${text}${JSON.stringify(records)}${room.server.log}`).not.toContain(one);
}

describe("FR-11: a caller gets only 401 and one record", () => {
  it.each(WRONG)("for a token %s", async (_, wrong) => {
    for (const path of [MCP, RPC]) await refused(path, wrong());
  });

  it("unless its token is valid, with which it is admitted under its agent's name", async () => {
    for (const path of [MCP, RPC]) {
      expect((await ask(path, bearer(room.token()))).status).toBe(200);
      const names = { subject: "town/fixer", project: "w", agent: "town/fixer", role: "worker", session: "s-1" };
      expect(room.audited.at(-1)).toMatchObject({ outcome: "allowed", call: CALLS[path], issuer: "agents", ...names });
      expect(room.audited.at(-1)).not.toHaveProperty("scope");
    }
    expect((await ask(RPC, bearer(room.token({}, "person")))).status).toBe(200);
  });

  it("for a token whose jti or session is revoked", async () => {
    using person = clientOf(room.token({}, "person"));
    const jti = randomUUID();
    await person.call("revoke_token", { jti }, LONG);
    await person.call("revoke_token", { session_id: "s-gone" }, LONG);
    for (const token of [room.token({ jti }), room.token({ session_id: "s-gone" })]) {
      await eventually("it is refused", async () => (await ask(RPC, bearer(token))).status === 401, WAIT_MS);
      await refused(MCP, bearer(token));
      await refused(RPC, bearer(token));
    }
    expect((await ask(MCP, bearer(room.token()))).status).toBe(200);
  });
});

describe("F13: calls end with their token, recorded once:", () => {
  /** Lifetimes of a token: one of them is long enough to connect everything, also on a busy machine. */
  const LIVES_S = [15, 60, 240];
  /** Polls, which are answered after 25 s, begin this long before the end of the token. */
  const LAST_S = 15;
  const revoked = async (what: object) => {
    using person = clientOf(room.token({}, "person"));
    await person.call("revoke_token", what, LONG);
  };

  describe.concurrent("polls and streams by RPC and MCP when it", () => {
    it.each([
      ["is revoked", () => ({ jti: "leaked" }), () => revoked({ jti: "leaked" })],
      ["is of a session that has ended", () => ({ session_id: "s-over" }), () => revoked({ session_id: "s-over" })],
    ] as const)("%s", async (name, claims, end) => {
      const sub = `poller whose token ${name}`;
      await ends(room.token({ ...claims(), sub }), sub, end);
    });

    it("expires", async () => {
      for (const seconds of LIVES_S) {
        const iat = Math.floor(Date.now() / 1000);
        const sub = `poller whose token lives for ${seconds} s`;
        const token = room.token({ iat, exp: iat + seconds, sub });
        try {
          return await ends(token, sub, async () => {}, iat + seconds - LAST_S);
        } catch (err) {
          if (seconds === LIVES_S.at(-1) || Date.now() / 1000 < iat + seconds) throw err;
        }
      }
    });
  });

  it("polls and streams by RPC and MCP when its key is removed from the file", async () => {
    const sub = "poller without a key";
    await ends(room.token({ sub }), sub, () => rm(join(room.dir, "agents.pub")));
    for (const path of [MCP, RPC]) await refused(path, bearer(room.token()));
  });

  /** `beginAt`: the polls do not begin before this Unix time, s. */
  async function ends(token: string, sub: string, end: () => Promise<void>, beginAt = 0): Promise<void> {
    const of = (outcome: string, path: string) =>
      room.audited.filter((one) => one.outcome === outcome && one["subject"] === sub && one.call === path).length;
    const [poll, watch] = ["threads.v1.ThreadsService/ReadMessages", "threads.v1.ThreadsService/WatchThreads"];
    const mcp = CALLS[MCP] ?? "";
    using client = clientOf(token);
    await using caller = await McpCaller.connect(room.server.url, token);
    await using listener = await McpCaller.connect(room.server.url, token, "2026-07-28");
    const stream = await listener.client.listen({ resourceSubscriptions: ["inbox://me"] });
    await sleep(Math.max(0, beginAt * 1000 - Date.now()));
    const before = of("allowed", mcp);
    const polls = [
      client.call("read_messages", { wait_ms: 25_000 }, LONG).catch((err) => err.fields.code),
      caller.code("read_messages", { wait_ms: 25_000 }),
      endOfWatch(token),
    ];
    const begun = () => of("allowed", mcp) > before && of("allowed", poll) > 0 && of("allowed", watch) > 0;
    await eventually("all wait", begun, WAIT_MS);
    await end();
    expect(await Promise.all(polls)).toEqual(["UNAUTHORIZED", "UNAUTHORIZED", "UNAUTHORIZED"]);
    expect(await stream.closed).not.toBe("local");
    const ended = () => of("ended", mcp) === 2 && of("ended", poll) === 1 && of("ended", watch) === 1;
    await eventually("the ends are recorded", ended, WAIT_MS);
  }
});

/** The code with which WatchThreads ends. */
async function endOfWatch(token: string): Promise<unknown> {
  const authorize: Interceptor = (next) => (req) => {
    req.header.set("authorization", `Bearer ${token}`);
    return next(req);
  };
  using connection = sidecarTransport({ baseUrl: room.server.url, interceptors: [authorize] });
  try {
    for await (const _update of createClient(ThreadsService, connection.transport).watchThreads({}, { signal: LONG })) {
      // Until it ends.
    }
    return "";
  } catch (err) {
    const why = domainErrorOf(err);
    return why instanceof DomainError ? why.fields["code"] : why;
  }
}

function clientOf(token: string): ThreadsClient {
  return new ThreadsClient({ url: room.server.url, token: () => token });
}
