import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { SessionStatusSchema } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { AgentStateSchema } from "../../internal/gen/gastown/v1/common_pb.ts";
import { startBridgeRoom } from "../support/bridge/bridge-room.ts";
import { eventually } from "../support/eventually.ts";

describe.concurrent("WatchSessions", () => {
  it("sends the state of all sessions, then numbered changes until a session is gone", async () => {
    await using own = await startBridgeRoom({ sessions: { retentionMs: 300 } });
    const client = own.client(own.prd);
    const begin = (sessionId: string) =>
      client.startSession({ projectId: "prd-manager", sessionId, repoPath: own.repo, provider: "scripted" });
    await begin("one");
    const seen: { readonly id: string; readonly status: string; readonly gone: boolean; readonly seq: bigint }[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const { session, gone, seq, gap, lastReceipt } of client.watchSessions({}, { signal: stop.signal })) {
        expect(gap?.first ?? seq).toBe((seen.at(-1)?.seq ?? 0n) + 1n);
        const status = SessionStatusSchema.value[session?.status ?? 0]?.name ?? "";
        seen.push({ id: `${session?.sessionId}${lastReceipt ? " receipt" : ""}`, status, gone, seq });
      }
    })().catch(() => {});
    await eventually("the snapshot", () => seen.length === 1);
    await begin("two");
    await eventually("two runs", () => seen.some(({ id, status }) => id === "two" && status === "RUNNING"));
    await client.sendInput({ sessionId: "one", text: "hello" });
    await eventually("the receipt", () => seen.some(({ id }) => id === "one receipt"));
    await client.stopSession({ sessionId: "two", force: true });
    await eventually("two is gone", () => seen.some(({ id, gone }) => id === "two" && gone));
    stop.abort();
    await watching;
    expect(seen.filter(({ id }) => id === "one")).toHaveLength(1);
  });

  it("reports the state and questions of an agent without a terminal, without secrets", async () => {
    await using room = await startBridgeRoom();
    const client = room.client(room.prd);
    const repoPath = room.repo;
    await client.startSession({ projectId: "prd-manager", sessionId: "s1", repoPath, provider: "scripted" });
    const [agent] = room.provider.agents;
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { status } of client.watchSessions({}, { signal: stop.signal })) {
        if (status === undefined) continue;
        const { localName } = AgentStateSchema.value[status.state] ?? {};
        seen.push(`${localName} ${status.agentPhase} ${status.dialog?.title ?? ""}`.trim());
      }
    })().catch(() => {});
    agent?.say({ type: "phase", state: "busy" });
    await eventually("it works", () => seen.at(-1) === "BUSY running");
    const title = "use hunter2?";
    const dialog = { id: "d", kind: "permission", title, text: "", choices: [], since: 1 } as const;
    agent?.say({ type: "phase", state: "dialog" }, { type: "dialog-opened", dialog });
    await eventually("it asks", () => seen.at(-1)?.startsWith("DIALOG stuck use ") ?? false);
    expect(seen.at(-1)).not.toContain("hunter");
    agent?.say({ type: "dialog-closed", dialog }, { type: "phase", state: "idle" });
    await eventually("it is idle", () => seen.at(-1) === "IDLE idle");
    stop.abort();
    await watching;
  });

  it("accepts two labels, and at most 50 lines", async () => {
    await using room = await startBridgeRoom();
    const client = room.client(room.prd);
    const repoPath = room.repo;
    await client.startSession({ projectId: "prd-manager", sessionId: "s1", repoPath, provider: "scripted" });
    const first = async (request: { readonly labels?: Record<string, string>; readonly lines?: number }) => {
      for await (const { session } of client.watchSessions(request)) return session?.sessionId;
    };
    expect(await first({ labels: { "gastown.io/provider": "scripted" } })).toBe("s1");
    await expect(first({ labels: { rig: "x" } })).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(first({ lines: 51 })).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});
