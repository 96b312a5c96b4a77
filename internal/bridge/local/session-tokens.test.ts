import { generateKeyPairSync, verify } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { AgentTokens } from "../../auth/agent-token.ts";
import { decodeToken } from "../../auth/token-format.ts";
import { SessionTokens } from "./session-tokens.ts";

const HOUR_MS = 3_600_000;
const keys = generateKeyPairSync("ed25519");
const one = { project: "shop", id: "s1", agentOpts: {} };

let dir: string;
let clock: FakeClock;
let tokens: SessionTokens;
const keyPath = () => join(dir, "signing.key");
const files = () => readdirSync(join(dir, "tokens"));
const pathOf = ({ project, id }: typeof one) =>
  tokens.environmentOf({ project, sessionId: id })["GT_THREADS_TOKEN_FILE"] ?? "";
const claims = () => decodeToken(readFileSync(pathOf(one), "utf8")).claims;
const writeKey = () => writeFileSync(keyPath(), keys.privateKey.export({ type: "pkcs8", format: "pem" }));

async function open(): Promise<SessionTokens> {
  const own = { keyPath: keyPath(), issuer: "bridge", audience: "threads" };
  const rules = { ...own, role: "worker", roles: ["reviewer"], ttlMs: HOUR_MS };
  const deps = { clock, logger: silentLogger, tokens: new AgentTokens({ clock }, rules) };
  return SessionTokens.open(deps, join(dir, "tokens"));
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "gt-tokens-"));
  clock = new FakeClock();
  writeKey();
  tokens = await open();
});
afterEach(async () => {
  await settle();
  expect(clock.sleeping).toBe(0);
  rmSync(dir, { recursive: true });
});

describe("a session's token file", () => {
  it("exists at once, for this user alone, and names this session's agent", () => {
    using _kept = tokens.keep(one);
    expect(statSync(pathOf(one)).mode & 0o777).toBe(0o600);
    const iat = clock.now() / 1000;
    expect(claims()).toEqual({
      ...{ iss: "bridge", aud: "threads", sub: "shop/s1", workspace_id: "shop", agent_id: "shop/s1" },
      ...{ session_id: "s1", role: "worker", iat, exp: iat + 3600, jti: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
    const { signed, signature } = decodeToken(readFileSync(pathOf(one), "utf8"));
    expect(verify(null, signed, keys.publicKey, signature)).toBe(true);
  });

  it("names the agent and role of the session's options, but no role that agents cannot have", () => {
    using _kept = tokens.keep({ ...one, agentOpts: { agent: "fixer", role: "reviewer" } });
    expect(claims()).toMatchObject({ sub: "shop/fixer", agent_id: "shop/fixer", session_id: "s1", role: "reviewer" });
    using _refused = tokens.keep({ ...one, id: "s2", agentOpts: { role: "orchestrator" } });
    expect(files()).toHaveLength(1);
  });

  it("is replaced at half its lifetime, and removed with the session", async () => {
    const kept = tokens.keep(one);
    const first = claims();
    await clock.advance(HOUR_MS / 2 - 1);
    expect(claims()).toEqual(first);
    await clock.advance(1);
    expect(claims()["jti"]).not.toBe(first["jti"]);
    expect(claims()["exp"]).toBe(Number(first["exp"]) + 1800);
    expect(files()).toHaveLength(1);
    kept[Symbol.dispose]();
    expect(files()).toEqual([]);
  });

  it("is kept while the key cannot be read, and replaced soon after it can", async () => {
    using _kept = tokens.keep(one);
    const first = claims();
    writeFileSync(keyPath(), "half a key");
    await clock.advance(HOUR_MS / 2);
    expect(claims()).toEqual(first);
    writeKey();
    await clock.advance(HOUR_MS / 40);
    expect(claims()["jti"]).not.toBe(first["jti"]);
  });

  it("of an earlier process is removed, unless its session continues", async () => {
    tokens.keep(one)[Symbol.dispose]();
    writeFileSync(pathOf({ ...one, id: "gone" }), "old");
    writeFileSync(`${pathOf(one)}.new`, "half");
    const next = await open();
    using _kept = next.keep(one);
    next.removeOthers();
    expect(files().map((name) => join(dir, "tokens", name))).toEqual([pathOf(one)]);
  });
});
