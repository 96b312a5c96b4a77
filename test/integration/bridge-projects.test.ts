import { request as httpsRequest } from "node:https";
import type { Client } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BridgeService, SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../internal/gen/google/rpc/error_details_pb.ts";
import { type BridgeRoom, type RoomConsumer, startBridgeRoom } from "../support/bridge/bridge-room.ts";
import { eventually } from "../support/eventually.ts";

let room: BridgeRoom;
let mine: Client<typeof BridgeService>;
let theirs: Client<typeof BridgeService>;
beforeAll(async () => {
  room = await startBridgeRoom({ limits: { startsPerMinute: 100_000 } });
  mine = room.client(room.prd);
  theirs = room.client(room.ndara);
});
afterAll(() => room[Symbol.asyncDispose]());

const start = (by: RoomConsumer, sessionId: string, more: object = {}) =>
  room.client(by).startSession({ projectId: by.name, sessionId, repoPath: room.repo, provider: "scripted", ...more });

async function errorOf(call: Promise<unknown>): Promise<ConnectError> {
  const err = await call.then(
    () => new ConnectError("it was answered", Code.Unknown),
    (caught: unknown) => ConnectError.from(caught),
  );
  return err;
}
const codeOf = async (call: Promise<unknown>) => Code[(await errorOf(call)).code];

async function first<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  for await (const message of stream) return message;
  return undefined;
}

async function* one<T>(message: T): AsyncGenerator<T> {
  yield message;
}

/** Every RPC that names a session. */
type Call = (client: Client<typeof BridgeService>, sessionId: string, signal: AbortSignal) => Promise<unknown>;
const CALLS: Readonly<Record<string, Call>> = {
  getSession: (client, sessionId) => client.getSession({ sessionId }),
  stopSession: (client, sessionId) => client.stopSession({ sessionId, force: true }),
  sendInput: (client, sessionId) => client.sendInput({ sessionId, text: "hello" }),
  streamEvents: (client, sessionId, signal) => first(client.streamEvents({ sessionId }, { signal })),
  ackEvents: (client, sessionId) => client.ackEvents({ sessionId, subscriberId: "s", ackSeq: 1n, epoch: "e" }),
  peek: (client, sessionId) => client.peek({ sessionId }),
  status: (client, sessionId) => client.status({ sessionId }),
  watchOutput: (client, sessionId, signal) => first(client.watchOutput({ sessionId }, { signal })),
  nudge: (client, sessionId) => client.nudge({ sessionId, request: { message: "hello" } }),
  getNudge: (client, sessionId) => client.getNudge({ sessionId, request: { requestId: "r" } }),
  cancelNudge: (client, sessionId) => client.cancelNudge({ sessionId, request: { requestId: "r" } }),
  sendKeys: (client, sessionId) => client.sendKeys({ sessionId, request: { keys: ["Escape"] } }),
  respond: (client, sessionId) => client.respond({ sessionId, request: { dialogId: "d", choice: "1" } }),
  attach: (client, sessionId, signal) => {
    const hello = { case: "hello", value: { cols: 80, rows: 24, readOnly: true, name: "" } } as const;
    return first(client.attach(one({ sessionId, request: { input: hello } }), { signal }));
  },
};

describe("each of two projects with its own CA", () => {
  it.each(Object.entries(CALLS))(
    "gets the same answer for the other's sessions as for nonexistent ones: %s",
    async (_, call) => {
      await start(room.ndara, "theirs");
      const { signal } = new AbortController();
      const foreign = await errorOf(call(mine, "theirs", signal));
      const missing = await errorOf(call(mine, "nobodys", signal));
      expect(Code[foreign.code]).toBe("NotFound");
      expect(foreign.rawMessage).toBe(missing.rawMessage.replace("nobodys", "theirs"));
      expect(await theirs.getSession({ sessionId: "theirs" })).toMatchObject({ status: SessionStatus.RUNNING });
      const decision = room.audited().findLast((line) => line["event"] === "policy" && line["session"] === "theirs");
      expect(room.audited()).toContainEqual(
        expect.objectContaining({ event: "policy", outcome: "refused", session: "theirs", project: "prd-manager" }),
      );
      expect(decision).toBeDefined();
    },
  );

  it("may use the same session id, and lists and watches only its own", async () => {
    await start(room.prd, "shared");
    await start(room.ndara, "shared");
    await start(room.prd, "only-prd");
    const names = async (client: typeof mine) =>
      (await client.listSessions({})).sessions.map(({ projectId }) => projectId);
    expect(new Set(await names(mine))).toEqual(new Set(["prd-manager"]));
    expect(new Set(await names(theirs))).toEqual(new Set(["ndara"]));
    const seen = new Set<string>();
    for await (const { session, seq } of theirs.watchSessions({}, { signal: AbortSignal.timeout(60_000) })) {
      seen.add(session?.projectId ?? "");
      if (seq >= BigInt((await names(theirs)).length)) break;
    }
    expect(seen).toEqual(new Set(["ndara"]));
  });

  it.each<[string, (client: typeof mine) => Promise<unknown>]>([
    [
      "start",
      (client) => client.startSession({ projectId: "ndara", sessionId: "x", repoPath: "/", provider: "scripted" }),
    ],
    ["list", (client) => client.listSessions({ projectId: "ndara" })],
    ["watch", (client) => first(client.watchSessions({ projectId: "ndara" }))],
  ])("may not name the other project: %s", async (_, call) => {
    expect(await codeOf(call(mine))).toBe("PermissionDenied");
  });
});

describe("a role", () => {
  const NEEDS: Readonly<Record<string, readonly string[]>> = {
    read: ["getSession", "streamEvents", "ackEvents", "peek", "status", "watchOutput", "attach"],
    nudge: ["sendInput", "nudge", "getNudge", "cancelNudge"],
    operate: ["stopSession", "sendKeys", "respond"],
  };
  it.each(["read", "nudge", "operate"] as const)("%s reaches its own RPCs and no others", async (scope) => {
    const client = room.client(room.prd, { scope });
    const held = ["read", "nudge", "operate"].slice(0, ["read", "nudge", "operate"].indexOf(scope) + 1);
    for (const [needed, calls] of Object.entries(NEEDS)) {
      for (const name of calls) {
        const code = await codeOf((CALLS[name] as Call)(client, "nobodys", new AbortController().signal));
        expect(`${name} ${code}`).toBe(`${name} ${held.includes(needed) ? "NotFound" : "PermissionDenied"}`);
      }
    }
    const started = client.startSession({
      projectId: "prd-manager",
      sessionId: `by-${scope}`,
      repoPath: room.repo,
      provider: "scripted",
    });
    if (scope === "operate") expect(await started).toMatchObject({ status: SessionStatus.RUNNING });
    else expect(await codeOf(started)).toBe("PermissionDenied");
  });
});

describe("a start", () => {
  it("is idempotent, and is refused with other parameters or the id of an ended session", async () => {
    const [one, two] = await Promise.all([start(room.prd, "idem"), start(room.prd, "idem")]);
    expect(one).toEqual(two);
    expect(await codeOf(start(room.prd, "idem", { agentOpts: { model: "m" } }))).toBe("AlreadyExists");
    await mine.stopSession({ sessionId: "idem" });
    await eventually(
      "it has stopped",
      () => room.sessions.get({ project: "prd-manager", id: "idem" })?.status === "stopped",
    );
    expect(await codeOf(start(room.prd, "idem"))).toBe("FailedPrecondition");
    expect(await mine.stopSession({ sessionId: "idem" })).toMatchObject({ status: SessionStatus.STOPPED });
    expect(await mine.getSession({ sessionId: "idem" })).toMatchObject({ reason: "StopRequested", restarts: 0 });
  });

  it.each<[string, object, string]>([
    ["no project", { projectId: "" }, "InvalidArgument"],
    ["no id", { sessionId: "" }, "InvalidArgument"],
    ["an id with a slash", { sessionId: "a/b" }, "InvalidArgument"],
    ["an id that begins with a dot", { sessionId: ".a" }, "InvalidArgument"],
    ["a relative path", { repoPath: "repo" }, "InvalidArgument"],
    ["no path", { repoPath: "" }, "InvalidArgument"],
    ["a path that is not allowed", { repoPath: "/etc" }, "PermissionDenied"],
    ["an unknown provider", { provider: "nobody" }, "InvalidArgument"],
    ["an unknown option", { agentOpts: { shell: "/bin/sh" } }, "InvalidArgument"],
    ["a mode that the provider lacks", { agentOpts: { mode: "terminal" } }, "FailedPrecondition"],
  ])("with %s is refused", async (_, more, code) => {
    const before = room.provider.agents.length;
    const audited = room.audited().length;
    const { code: answered, rawMessage } = await errorOf(start(room.prd, "refused", more));
    expect(Code[answered]).toBe(code);
    if (answered !== Code.InvalidArgument || "provider" in more || "agentOpts" in more) {
      const decisions = room
        .audited()
        .slice(audited)
        .filter(({ event }) => event === "policy");
      const refused = { outcome: "refused", session: "refused", reason: rawMessage };
      expect(decisions).toEqual([expect.objectContaining(refused)]);
    }
    expect(room.provider.agents).toHaveLength(before);
    expect(await codeOf(mine.getSession({ sessionId: "refused" }))).toBe("NotFound");
  });
});

describe("an input", () => {
  it("is answered with its number, the same for the same key", async () => {
    await start(room.prd, "input");
    const send = (text: string) => mine.sendInput({ sessionId: "input", text, idempotencyKey: "k" });
    const [one, two] = await Promise.all([send("hello"), send("hello")]);
    expect(one).toMatchObject({ accepted: true, seq: 2n, error: "" });
    expect(two).toEqual(one);
    expect(await codeOf(send("other"))).toBe("AlreadyExists");
  });

  it.each<[string, object]>([
    ["no text", { text: "" }],
    ["more than 65,536 bytes", { text: "ä".repeat(32_769) }],
    ["an invalid key", { text: "x", idempotencyKey: "a b" }],
  ])("with %s is invalid", async (_, input) => {
    await start(room.prd, "input");
    expect(await codeOf(mine.sendInput({ sessionId: "input", ...input }))).toBe("InvalidArgument");
  });

  it("in JSON with an unknown field is rejected", async () => {
    await start(room.prd, "strict");
    const post = (method: string, body: object) =>
      new Promise<string>((resolve, reject) => {
        const headers = { "content-type": "application/json", authorization: `Bearer ${room.prd.token()}` };
        const options = { method: "POST", headers, agent: false as const, ...room.nodeOptions(room.prd) };
        const req = httpsRequest(`${room.url}/bridge.v1.BridgeService/${method}`, options, async (res) =>
          resolve(Buffer.concat(await res.toArray()).toString()),
        );
        req.on("error", reject).end(JSON.stringify(body));
      });
    const inputs = () => room.provider.agents.find(({ id }) => id === "prd-manager/strict")?.inputs.length;
    expect(await post("SendInput", { sessionId: "strict", text: "x", mode: "IMMEDIATE" })).toContain(
      "invalid_argument",
    );
    expect(await post("StopSession", { sessionId: "strict", forced: true })).toContain("invalid_argument");
    expect(inputs()).toBe(0);
    expect(await post("SendInput", { sessionId: "strict", text: "x" })).toContain('"accepted":true');
    expect(await post("GetSession", { sessionId: "strict", extra: 1 })).toContain('"status":"RUNNING"');
  });
});

describe("pages of sessions", () => {
  it("contain each session once, in order, while others come and go, and reject foreign page tokens", async () => {
    await using own = await startBridgeRoom();
    const client = own.client(own.prd);
    const begin = (sessionId: string) =>
      client.startSession({ projectId: "prd-manager", sessionId, repoPath: own.repo, provider: "scripted" });
    for (let i = 0; i < 7; i++) await begin(`s${i}`);
    const ids: string[] = [];
    let pageToken = "";
    do {
      const page = await client.listSessions({ pageSize: 3, pageToken });
      ids.push(...page.sessions.map(({ sessionId }) => sessionId));
      pageToken = page.nextPageToken;
      if (ids.length === 3) await begin("later");
    } while (pageToken !== "");
    expect(ids).toEqual(["s0", "s1", "s2", "s3", "s4", "s5", "s6", "later"]);
    const { nextPageToken } = await client.listSessions({ pageSize: 3 });
    for (const forged of ["x", `${nextPageToken}A`, Buffer.from('[0,""]').toString("base64url")])
      expect(await codeOf(client.listSessions({ pageToken: forged }))).toBe("InvalidArgument");
    const other = client.listSessions({ pageToken: nextPageToken, status: [SessionStatus.RUNNING] });
    expect(await codeOf(other)).toBe("InvalidArgument");
    expect(await codeOf(client.listSessions({ pageSize: -1 }))).toBe("InvalidArgument");
    await client.stopSession({ sessionId: "s1", force: true });
    await eventually(
      "s1 has stopped",
      () => own.sessions.get({ project: "prd-manager", id: "s1" })?.status === "stopped",
    );
    const { sessions } = await client.listSessions({ status: [SessionStatus.STOPPED] });
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(["s1"]);
  });
});

describe("limits", () => {
  it("hold for 500 concurrent starts, per project and in total", async () => {
    await using own = await startBridgeRoom({
      sessions: { maxPerProject: 5, maxGlobal: 8 },
      limits: { startsPerMinute: 100_000 },
    });
    const started = Array.from({ length: 500 }, (_, i) => {
      const by = i % 2 === 0 ? own.prd : own.ndara;
      const request = { projectId: by.name, sessionId: `s${i}`, repoPath: own.repo, provider: "scripted" };
      return codeOf(own.client(by).startSession(request));
    });
    const codes = await Promise.all(started);
    expect(codes.filter((code) => code === "Unknown")).toHaveLength(8); // answered
    expect(codes.filter((code) => code === "ResourceExhausted")).toHaveLength(492);
    expect(own.provider.agents).toHaveLength(8);
    for (const { name } of [own.prd, own.ndara]) expect(own.sessions.list(name).length).toBeLessThanOrEqual(5);
  });

  it("of rates apply per issuer and session whatever the token's subject, and say how long to wait", async () => {
    await using own = await startBridgeRoom({ limits: { startsPerMinute: 2, inputsPerMinute: 3 } });
    const begin = (sessionId: string, subject = "app") =>
      own
        .client(own.prd, { subject })
        .startSession({ projectId: "prd-manager", sessionId, repoPath: own.repo, provider: "scripted" });
    await begin("a");
    await begin("b");
    const err = await errorOf(begin("c"));
    expect(Code[err.code]).toBe("ResourceExhausted");
    expect(Number(err.findDetails(ErrorInfoSchema)[0]?.metadata["retry_after_ms"])).toBeGreaterThan(0);
    expect(err.findDetails(RetryInfoSchema)).toHaveLength(1);
    expect(await codeOf(begin("c", "another"))).toBe("ResourceExhausted");
    await own
      .client(own.ndara)
      .startSession({ projectId: own.ndara.name, sessionId: "c", repoPath: own.repo, provider: "scripted" });
    const send = (sessionId: string, subject = "app") =>
      own.client(own.prd, { subject }).sendInput({ sessionId, text: "x" });
    for (let i = 0; i < 3; i++) await send("a");
    expect(await codeOf(send("a"))).toBe("ResourceExhausted");
    expect(await codeOf(send("a", "another"))).toBe("ResourceExhausted");
    await send("b", "another");
    const refused = own.audited().filter((line) => line["event"] === "policy" && line["outcome"] === "refused");
    expect(refused.map(({ code }) => code)).toEqual(Array(4).fill("exhausted"));
  });
});

describe("Health and ListProviders", () => {
  it("answer in time, whatever a provider does", async () => {
    await using own = await startBridgeRoom();
    const client = own.client(own.prd);
    expect(await client.health({})).toMatchObject({
      status: "serving",
      providers: [{ provider: "scripted", available: true, error: "" }],
    });
    expect(await client.listProviders({})).toMatchObject({
      providers: [{ provider: "scripted", version: "1.0", binary: "/bin/scripted", capabilities: ["stdio"] }],
    });
  });

  it("name a provider that hangs, and a start with it is refused", async () => {
    await using own = await startBridgeRoom();
    const client = own.client(own.prd);
    own.provider.health_ = () => new Promise(() => {});
    const { providers } = await client.health({}, { timeoutMs: 10_000 });
    expect(providers).toMatchObject([
      { provider: "scripted", available: false, error: expect.stringContaining("took longer") },
    ]);
    const begun = client.startSession({
      projectId: "prd-manager",
      sessionId: "s",
      repoPath: own.repo,
      provider: "scripted",
    });
    expect(await codeOf(begun)).toBe("FailedPrecondition");
  });
});
