import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeSecrets } from "../../../test/support/cluster/fake-secrets.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { AgentTokens } from "../../auth/agent-token.ts";
import { decodeToken } from "../../auth/token-format.ts";
import { DomainError } from "../../base/errors.ts";
import { observePod } from "../pods/observed-pod.ts";
import type { SessionRecord } from "../pods/session-record.ts";
import type { ShownVersionOf } from "./shown-secrets.ts";
import { TokenSecrets } from "./token-secrets.ts";

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;
const NAME = "agent-one-token";

let dir: string;
let clock: FakeClock;
let secrets: FakeSecrets;
let tokens: TokenSecrets;
const keyPath = () => join(dir, "signing.key");
const writeKey = () =>
  writeFileSync(keyPath(), generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
const claims = () => decodeToken(secrets.secrets.get(NAME)?.data["token"] ?? "").claims;

function tokensWith(shown?: ShownVersionOf, serverCa?: () => string): TokenSecrets {
  const own = { keyPath: keyPath(), issuer: "gastown", audience: "threads" };
  const rules = { ...own, role: "worker", roles: ["reviewer"], ttlMs: HOUR_MS };
  const deps = { secrets, clock, logger: silentLogger, tokens: new AgentTokens({ clock }, rules) };
  return new TokenSecrets({ ...deps, shown, serverCa });
}

function record(more: Partial<SessionRecord> = {}, secretName = NAME, options = {}): SessionRecord {
  const opts = JSON.stringify(options);
  const annotations = { "gastown.io/address": "shop/crew/one", "gastown.io/agent-opts": opts };
  const metadata = { name: "agent-one", namespace: "agents", uid: "u1", annotations };
  const pod = observePod({ metadata, spec: { volumes: [{ name: "session", secret: { secretName } }] } });
  const binding = { name: "agents", project: "shop", templates: new Map(), credentials: "secret" } as const;
  return { key: { project: "shop", id: "one" }, pod, binding, isOwn: true, ...more };
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-tokens-"));
  clock = new FakeClock();
  secrets = new FakeSecrets();
  writeKey();
  tokens = tokensWith();
});
afterEach(() => rmSync(dir, { recursive: true }));

describe("the Secret with a session's token", () => {
  it("belongs to the pod and names its agent; a second look writes nothing", async () => {
    await tokens.look(record(), never);
    await tokens.look(record(), never);
    expect(secrets.writes).toEqual([`create ${NAME}`]);
    expect(secrets.secrets.get(NAME)).toMatchObject({ owners: [{ kind: "Pod", name: "agent-one", uid: "u1" }] });
    expect(claims()).toMatchObject({
      ...{ iss: "gastown", aud: "threads", workspace_id: "shop", agent_id: "shop/crew/one", session_id: "one" },
      role: "worker",
    });
  });

  it("names the role of the session's options, if agents can have it", async () => {
    await tokens.look(record({}, NAME, { role: "reviewer" }), never);
    expect(claims()).toMatchObject({ role: "reviewer" });
    await tokens.look(record({}, NAME, { role: "orchestrator" }), never);
    expect(claims()).toMatchObject({ role: "reviewer" });
  });

  it("is renewed near half its lifetime, at the time that the previous look returned", async () => {
    const inMs = (await tokens.look(record(), never)) ?? 0;
    expect(Math.abs(inMs - HOUR_MS / 2)).toBeLessThanOrEqual(HOUR_MS / 10);
    const first = claims();
    await clock.advance(inMs - 1);
    await tokens.look(record(), never);
    expect(claims()).toEqual(first);
    await clock.advance(1);
    await tokens.look(record(), never);
    expect(claims()["jti"]).not.toBe(first["jti"]);
  });

  it.for<[string, () => void]>([
    ["was emptied", () => secrets.change(NAME, { data: {} })],
    ["holds another session's token", () => secrets.change(NAME, { data: { token: "a.b.c" } })],
    ["is signed with a key that was replaced", writeKey],
  ])("is written again when it %s", async ([, damage]) => {
    await tokens.look(record(), never);
    const first = claims();
    damage();
    await tokens.look(record(), never);
    expect(claims()["jti"]).not.toBe(first["jti"]);
  });

  it("exists after one look, even if the Secret of an earlier pod of that name was in its place", async () => {
    await tokens.look(record(), never);
    secrets.change(NAME, { owners: [{ kind: "Pod", name: "agent-one", uid: "u0" }] });
    await tokens.look(record(), never);
    expect(secrets.secrets.get(NAME)?.owners).toEqual([{ kind: "Pod", name: "agent-one", uid: "u1" }]);
  });

  it("is not read again while a watch shows it unchanged, for a minute at most", async () => {
    const get = secrets.get.bind(secrets);
    let reads = 0;
    secrets.get = async (namespace, name) => {
      reads++;
      return get(namespace, name);
    };
    tokens = tokensWith((_, name) => secrets.secrets.get(name));
    const inMs: (number | undefined)[] = [];
    for (let look = 0; look < 4; look++) inMs.push(await tokens.look(record(), never));
    expect(reads).toBe(2);
    expect(new Set(inMs).size).toBe(1);
    secrets.change(NAME, { data: {} });
    await tokens.look(record(), never);
    expect(claims()).toMatchObject({ session_id: "one" });
    await tokens.look(record(), never);
    await clock.advance(60_000);
    await tokens.look(record(), never);
    expect(reads).toBe(5);
  });

  it("is left alone if it is foreign, or if its pod mounts another one", async () => {
    await tokens.look(record(), never);
    secrets.change(NAME, { labels: {}, owners: [], data: {} });
    await tokens.look(record(), never);
    await tokens.remove(record(), never);
    expect(secrets.secrets.get(NAME)?.data).toEqual({});
    expect(await tokens.look(record({ isOwn: false }), never)).toBeUndefined();
    expect(await tokens.look(record({}, "another"), never)).toBeUndefined();
    expect(secrets.writes).toEqual([`create ${NAME}`]);
  });

  it("is deleted when the session has ended, and not created again while its events are kept", async () => {
    await tokens.look(record(), never);
    const { pod } = record();
    const ended = record({ pod: { ...pod, annotations: { ...pod.annotations, "gastown.io/stopped-at": "2026" } } });
    await tokens.remove(ended, never);
    await tokens.remove(ended, never);
    expect(await tokens.look(ended, never)).toBeUndefined();
    expect(secrets.writes).toEqual([`create ${NAME}`, `delete ${NAME}`]);
  });

  it("does not delay the session while the key cannot be read", async () => {
    writeFileSync(keyPath(), "half a key");
    expect(await tokens.look(record(), never)).toBe(30_000);
    expect(secrets.writes).toEqual([]);
  });

  it("contains the CAs of the threads server, and is written again when they change", async () => {
    let ca = "first";
    const shown = (_: string, name: string) => secrets.secrets.get(name);
    tokens = tokensWith(shown, () => ca);
    const data = () => secrets.secrets.get(NAME)?.data ?? {};
    for (let look = 0; look < 3; look++) await tokens.look(record(), never);
    expect([data()["ca.crt"], secrets.writes.length]).toEqual(["first", 1]);
    const { token } = data();
    ca = "second";
    await tokens.look(record(), never);
    expect(data()).toEqual({ token, "ca.crt": "second" });
  });

  it("does not delay the session while those CAs are unknown, and keeps its token", async () => {
    await tokensWith(undefined, () => "first").look(record(), never);
    const before = secrets.secrets.get(NAME)?.data;
    const unknown = () => {
      throw new DomainError("unavailable", "the CA was not read yet");
    };
    expect(await tokensWith(undefined, unknown).look(record(), never)).toBe(30_000);
    expect(secrets.secrets.get(NAME)?.data).toEqual(before);
  });
});
