import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentState, DialogKind, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode, RespondOutcome } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import type { AgentProgram } from "../support/agents/agents-install.ts";
import { type RealAgent, startRealAgent } from "../support/agents/real-agent.ts";
import { type Component, requireComponent } from "../support/cluster/components.ts";
import { until } from "../support/sidecar/sidecar.ts";

interface Answered {
  readonly component: Component;
  readonly program: AgentProgram;
  /** Prefixes of the labels that allow once and that refuse. */
  readonly yes: string;
  readonly no: string;
  /** It can be made to ask a question whose answer may be a text. */
  readonly asks: boolean;
}

const AGENTS: readonly Answered[] = [
  { component: "claude", program: "claude-2.1.330", yes: "Yes", no: "No", asks: true },
  { component: "claude", program: "claude-2.1.197", yes: "Yes", no: "No", asks: true },
  { component: "codex", program: "codex-0.169.0", yes: "Yes, proceed", no: "No", asks: false },
  { component: "opencode", program: "opencode-1.18.33", yes: "Allow once", no: "Reject", asks: true },
];

/** A dialog that is drawn completely: OpenCode draws its dialogs in steps, each of which looks like another dialog. */
async function openDialog({ sidecar }: RealAgent) {
  let seen = { id: "", since: 0 };
  return await until("a dialog with choices that stands still", 30_000, async () => {
    const { state, dialog } = await sidecar.client.status({});
    if (state !== AgentState.DIALOG || dialog === undefined || dialog.choices.length < 2) return undefined;
    if (dialog.id !== seen.id) seen = { id: dialog.id, since: performance.now() };
    return performance.now() - seen.since >= STANDS_MS ? dialog : undefined;
  });
}

const STANDS_MS = 500;

async function send({ sidecar }: RealAgent, message: string) {
  expect(await sidecar.client.nudge({ message, timeoutMs: 30_000n })).toMatchObject({
    outcome: NudgeOutcome.SUBMITTED,
    error: "",
  });
}

/** Gives the first choice whose label has this prefix. */
async function answer(agent: RealAgent, label: string, text = "") {
  const dialog = await openDialog(agent);
  const choice = dialog.choices.find((one) => one.label.startsWith(label))?.key ?? "";
  const request = { dialogId: dialog.id, choice, text };
  const { outcome, evidence } = await agent.sidecar.client.respond(request);
  return { request, outcome, evidence: evidence.map((one) => one.value) };
}

describe.each(AGENTS)("dialogs of a real agent: $program", ({ component, program, yes, no, asks }) => {
  it("are answered once, with the requested choice", async (context) => {
    await requireComponent(context, component);
    await using agent = await startRealAgent({ program });
    const { client } = agent.sidecar;
    await agent.sidecar.untilState(AgentState.IDLE);
    const log = join(agent.workdir, "tool-ran");

    await send(agent, "RUN-TOOL echo ran >> tool-ran");
    expect((await openDialog(agent)).kind).toBe(DialogKind.PERMISSION);
    for (const mode of [NudgeMode.WAIT_IDLE, NudgeMode.IMMEDIATE]) {
      const refused = await client.nudge({ message: "marker-between", mode });
      expect(refused).toMatchObject({ delivered: false, outcome: NudgeOutcome.BLOCKED_BY_DIALOG });
    }
    expect(existsSync(log)).toBe(false);
    const allowed = await answer(agent, yes);
    expect(allowed).toMatchObject({ outcome: RespondOutcome.ANSWERED });
    await expect(client.respond(allowed.request)).rejects.toMatchObject({ rawMessage: /no dialog is open/ });
    await send(agent, "marker-between");
    await until("the tool", 30_000, () => existsSync(log) || undefined);
    await until("the message", 30_000, () => agent.model.arrivals("marker-between") > 0 || undefined);

    await agent.sidecar.untilState(AgentState.IDLE);
    await send(agent, "RUN-TOOL touch never-made");
    const denied = await answer(agent, no);
    expect([RespondOutcome.ANSWERED, RespondOutcome.CHANGED]).toContain(denied.outcome);
    if (denied.outcome === RespondOutcome.CHANGED) await client.sendKeys({ keys: ["Enter"] });
    await agent.sidecar.untilState(AgentState.IDLE);
    expect(existsSync(join(agent.workdir, "never-made"))).toBe(false);

    if (asks) {
      await send(agent, "ASK-ME");
      const dialog = await openDialog(agent);
      const text = await client.respond({ dialogId: dialog.id, text: "mauve with dots" });
      expect(text.outcome).toBe(RespondOutcome.ANSWERED);
      await agent.sidecar.untilState(AgentState.IDLE);
    }
    expect(await readFile(log, "utf8")).toBe("ran\n");
    expect(agent.model.arrivals("marker-between")).toBe(1);
  });
});

describe.each([
  ["claude-2.1.330", "No, exit"],
  ["claude-2.1.197", "Yes, I trust this folder"],
] as const)("the trust dialog of %s, which begins on %s", (program, selected) => {
  it("is answered with yes, which is selected first if necessary", async (context) => {
    await requireComponent(context, "claude");
    await using agent = await startRealAgent({ program, state: "untrusted" });
    const dialog = await openDialog(agent);
    expect(dialog.choices.find((one) => one.selected)?.label).toBe(selected);
    expect(await answer(agent, "Yes, I trust")).toMatchObject({ outcome: RespondOutcome.ANSWERED });
    await agent.sidecar.untilState(AgentState.IDLE);
    expect((await agent.sidecar.client.status({})).restarts).toBe(0);
  });
});
