import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeToken } from "../../internal/auth/token-format.ts";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: BridgeFolder;
let bridge: RunningBridge;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  const key = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
  writeFileSync(folder.path("certs/agents.key"), key, { mode: 0o600 });
  const keys = { key_path: "certs/agents.key", issuer: "host-7", ttl: "2s", roles: ["reviewer"] };
  bridge = await folder.start({ session_tokens: keys });
});
afterAll(() => folder[Symbol.asyncDispose]());

const client = () => folder.client(bridge, folder.prd);
const files = () => readdirSync(folder.path("state/tokens")).filter((name) => !name.endsWith(".new"));

/** The values of the variable `name` in the environments of this bridge's agents. */
function inEnvironments(name: string): readonly string[] {
  const found = readdirSync("/proc").flatMap((pid) => {
    try {
      const script = readFileSync(`/proc/${pid}/cmdline`, "utf8")
        .split("\0")
        .find((arg) => /\.(?:mjs|ts)$/.test(arg));
      if (script?.includes("demo-agent") !== true) return [];
      const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      const value = variables.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
      return value?.startsWith(folder.dir) ? [value] : [];
    } catch {
      return [];
    }
  });
  return [...new Set(found)];
}

describe("with session_tokens an agent", () => {
  it.for(["stdio", "terminal"])("over %s has a file with its own token while it lives", async (mode) => {
    const sessionId = `token-${mode}`;
    const request = { projectId: "prd-manager", sessionId, provider: "demo", repoPath: folder.path("repos/one") };
    const roles = { agent: `agent-${mode}`, role: "reviewer" };
    await expect(client().startSession({ ...request, agentOpts: { mode, role: "operator" } })).rejects.toThrow(
      /may not have the role "operator"/,
    );
    await client().startSession({ ...request, agentOpts: { mode, ...roles } });
    expect(await client().getSession({ sessionId })).toMatchObject({ agent: `prd-manager/agent-${mode}` });
    const path = await until("the agent", 30_000, () => inEnvironments("GT_THREADS_TOKEN_FILE")[0], bridge.log);
    const claims = () => decodeToken(readFileSync(path, "utf8")).claims;
    const first = claims();
    const text = readFileSync(path, "utf8");
    expect(first).toMatchObject({
      ...{ iss: "host-7", aud: "threads", workspace_id: "prd-manager", session_id: sessionId },
      ...{ agent_id: `prd-manager/agent-${mode}`, role: "reviewer" },
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await until("another token", 30_000, () => claims()["jti"] !== first["jti"] || undefined, bridge.log);
    await client().stopSession({ sessionId, force: true });
    const ended = async () => (await client().getSession({ sessionId })).status === SessionStatus.STOPPED || undefined;
    await until("its end", 30_000, ended, bridge.log);
    await until("no file", 30_000, () => files().length === 0 || undefined, bridge.log);
    expect(bridge.log()).not.toContain(text.split(".")[1]);
  });
});
