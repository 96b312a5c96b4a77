import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { AgentState, EventType, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { RespondOutcome } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { ModelServer } from "../fakes/model-server.ts";
import { agentInHome } from "../support/agents/agent-in-home.ts";
import type { AgentProgram } from "../support/agents/agents-install.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { until } from "../support/sidecar/sidecar.ts";

const AGENTS = [
  { kind: "claude", program: "claude-2.1.330", yes: "Yes", args: ["--permission-mode", "default"] },
  { kind: "codex", program: "codex-0.169.0", yes: "Yes, proceed", args: [] },
  { kind: "opencode", program: "opencode-1.18.33", yes: "Allow once", args: [] },
] as const satisfies readonly { readonly program: AgentProgram; readonly [key: string]: unknown }[];
const TIMEOUT_MS = 120_000;

let folder: BridgeFolder;
let bridge: RunningBridge;
let model: ModelServer;
const workdirs = new Map<string, string>();
beforeAll(async () => {
  folder = await BridgeFolder.create();
  model = await ModelServer.listen({ wordDelayMs: 0 });
  const providers = await Promise.all(
    AGENTS.map(async ({ kind, program, args }) => {
      const { binary, workdir } = await agentInHome(folder.path("repos", kind), kind, program, model.url);
      workdirs.set(kind, workdir);
      return [kind, { binary, args }] as const;
    }),
  );
  bridge = await folder.start({ providers: Object.fromEntries(providers) });
}, TIMEOUT_MS);
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

const client = () => folder.client(bridge, folder.prd);

describe.concurrent.each(AGENTS)("$program in a terminal of the bridge", ({ kind, yes }) => {
  const sessionId = kind;
  const status = () => client().status({ sessionId, request: {} });
  const untilIdle = async () => {
    const look = async () => (await status()).state === AgentState.IDLE || undefined;
    await until(`${kind} to be idle`, 100_000, look).catch(async (err: unknown) => {
      const { state, evidence } = await status();
      const { output } = await client().peek({ sessionId, request: { lines: 20 } });
      throw new Error(`state ${state}: ${evidence.map(({ value }) => value).join("; ")}\n${output}`, { cause: err });
    });
  };
  const untilStatus = (wanted: SessionStatus) => {
    const look = async () => ((await client().getSession({ sessionId })).status === wanted ? true : undefined);
    return until(`${kind} to have the status ${wanted}`, 100_000, look, bridge.log);
  };
  const openDialog = async () => {
    let last = { id: "", since: 0 };
    return until("a dialog that stands still", 100_000, async () => {
      const { dialog } = await status();
      if (dialog === undefined || dialog.choices.length < 2) return undefined;
      if (dialog.id !== last.id) last = { id: dialog.id, since: performance.now() };
      return performance.now() - last.since >= 500 ? dialog : undefined;
    });
  };

  /** Continues a conversation that was held over stdio. */
  const goesOn = async () => {
    const start = (id: string, agentOpts: Record<string, string>) => {
      const repoPath = workdirs.get(kind) ?? "";
      return client().startSession({ projectId: "prd-manager", sessionId: id, provider: kind, repoPath, agentOpts });
    };
    await start(`${kind}-stdio`, {});
    await client().sendInput({ sessionId: `${kind}-stdio`, text: `SAY a word that ${kind} keeps` });
    let resume = "";
    let isOver = false;
    for await (const event of client().streamEvents({ sessionId: `${kind}-stdio`, afterSeq: 0n })) {
      resume ||= /^● Conversation (\S+)$/m.exec(event.text)?.[1] ?? "";
      isOver ||= event.text.includes(`a word that ${kind} keeps`) && event.type === EventType.STDOUT;
      if (isOver && event.type === EventType.PHASE_CHANGED && event.state === AgentState.IDLE) break;
    }
    await client().stopSession({ sessionId: `${kind}-stdio` });
    expect((await client().getSession({ sessionId: `${kind}-stdio` })).agentSessionId).toBe(resume);
    await start(`${kind}-again`, { mode: "terminal", resume });
    await shows(`${kind}-again`, `a word that ${kind} keeps`);
    await client().stopSession({ sessionId: `${kind}-again`, force: true });
  };
  const shows = async (id: string, text: string) => {
    let screen = "";
    const shown = async () => {
      screen = (await client().peek({ sessionId: id, request: { lines: 60 } })).output;
      return screen.includes(text) || undefined;
    };
    await until("the earlier conversation on the screen", 60_000, shown, () => screen);
  };

  it("starts, takes a message, has its permission answered, stops, and resumes its conversation", {
    timeout: 2 * TIMEOUT_MS,
  }, async (context) => {
    await requireComponent(context, kind);
    const repoPath = workdirs.get(kind) ?? "";
    const agentOpts = { mode: "terminal" };
    await client().startSession({ projectId: "prd-manager", sessionId, provider: kind, repoPath, agentOpts });
    await untilStatus(SessionStatus.RUNNING);
    await untilIdle();
    const text = `SAY hello from ${kind}`;
    const sent = await client().sendInput({ sessionId, text, idempotencyKey: "m1" });
    expect(sent).toMatchObject({ accepted: true, outcome: NudgeOutcome.SUBMITTED });
    expect(await client().sendInput({ sessionId, text, idempotencyKey: "m1" })).toEqual(sent);
    const receipt = await client().getNudge({ sessionId, request: { requestId: "m1" } });
    expect(receipt).toMatchObject({ delivered: true, outcome: NudgeOutcome.SUBMITTED });
    await untilIdle();
    expect(model.arrivalsOfOne(text)).toBe(1);
    await client().sendInput({ sessionId, text: "RUN-TOOL touch made-by-tool" });
    const dialog = await openDialog();
    const choice = dialog.choices.find(({ label }) => label.startsWith(yes))?.key ?? "";
    const answer = await client().respond({ sessionId, request: { dialogId: dialog.id, choice } });
    expect(answer.outcome).toBe(RespondOutcome.ANSWERED);
    await until("the tool", 30_000, () => existsSync(join(repoPath, "made-by-tool")) || undefined);
    await untilIdle();
    const { agentSessionId } = await client().getSession({ sessionId });
    await client().stopSession({ sessionId });
    await untilStatus(SessionStatus.STOPPED);
    expect(agentSessionId).not.toBe("");
    expect((await client().getSession({ sessionId })).agentSessionId).toBe(agentSessionId);
    await client().startSession({
      ...{ projectId: "prd-manager", sessionId: `${kind}-next`, provider: kind, repoPath },
      agentOpts: { mode: "terminal", resume: agentSessionId },
    });
    await shows(`${kind}-next`, `hello from ${kind}`);
    await client().stopSession({ sessionId: `${kind}-next`, force: true });
    await goesOn();
  });
});
