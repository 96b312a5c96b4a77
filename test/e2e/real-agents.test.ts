import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { profileNamed } from "../../internal/agents/programs/registry.ts";
import { comparable } from "../../internal/agents/safe-text.ts";
import { AgentState, DialogKind, EventType, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode, RespondOutcome } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../../internal/rpc/client/transport.ts";
import { modelAct } from "../fakes/model-script.ts";
import type { ModelRequest } from "../fakes/model-wire.ts";
import { Hands } from "../lab/hands.ts";
import type { AgentProgram } from "../support/agents/agents-install.ts";
import { type RealAgent, startRealAgent } from "../support/agents/real-agent.ts";
import { type Component, component } from "../support/cluster/components.ts";
import { until } from "../support/sidecar/sidecar.ts";

interface Tested {
  readonly kind: Component;
  readonly program: AgentProgram;
  /** The selected choice of its trust dialog, if it shows one. */
  readonly trust?: string;
  /** Its answers are long, and each line of them is looked for in the events. */
  readonly prints?: boolean;
  /** Prefixes of the labels that allow once and that refuse. */
  readonly yes: string;
  readonly no: string;
  /** It can be made to ask a question whose answer may be a text. */
  readonly asks: boolean;
}

const claude = { kind: "claude", yes: "Yes", no: "No", asks: true } as const;
const AGENTS: readonly Tested[] = [
  { ...claude, program: "claude-2.1.330", trust: "No, exit", prints: true },
  { ...claude, program: "claude-2.1.197", trust: "Yes, I trust this folder" },
  { kind: "codex", program: "codex-0.169.0", prints: true, yes: "Yes, proceed", no: "No", asks: false },
  { kind: "opencode", program: "opencode-1.18.33", yes: "Allow once", no: "Reject", asks: true },
];

/** The messages to each agent; each must reach the model once, as it is or as its profile has made it harmless. */
const MESSAGES: readonly (readonly [kind: string, message: string])[] = [
  ["one short line", "marker-short: say hello"],
  ["five lines, one blank, one indented", "marker-lines\ntwo\n\n    four\nfive"],
  ["1 KiB in one line", `marker-long ${"word ".repeat(200)}end`],
  ["wide and joined characters", "marker-wide 日本語 👩‍👩‍👧 é"],
  ["a first exclamation mark", "!touch shell-command-ran"],
  ["a first slash", "/marker-slash"],
  ["a first dash and a last semicolon", "-n marker-dash;"],
  ["a command that ends the agent", "/exit"],
  ["a word that ends the agent", "exit"],
  ["a backslash at the end", "ends with a backslash\\"],
  ["the name of a file behind an at sign", "look at @note"],
  ["marks of direction and of no width", "left\u2066 to \u200bright"],
];

/** The text without the marks that Claude Code puts around a longer paste on its way to the model. */
const bare = (text: string): string =>
  text.replace(/^\s*<pasted_content id="\w+">\n/, "").replace(/\n<\/pasted_content id="\w+">\s*$/, "");

const PER_ANSWER = 25;
const SIZES: readonly (readonly [cols: number, rows: number])[] = [
  [120, 40],
  [80, 24],
  [160, 50],
];
const PRINTED = PER_ANSWER * SIZES.length;
const nameOf = (n: number) => `item-${String(n).padStart(4, "0")}`;
const itemOf = (n: number) =>
  [nameOf(n), ...Array.from({ length: (n % 7) * 5 }, (_, i) => `${n}${"abcdefghij"[i % 10]}${i}`)].join(" ");

/** For `go on N` 25 lines, otherwise what keywords in the message demand. */
function act({ lastUserText, tools, afterTool }: ModelRequest) {
  const answer = /^go on (\d+)/.exec(lastUserText)?.[1];
  if (answer === undefined) return modelAct(lastUserText, tools, afterTool);
  const items = Array.from({ length: PER_ANSWER }, (_, i) => `- ${itemOf(Number(answer) * PER_ANSWER + i)}`);
  return { type: "say", text: items.join("\n") } as const;
}

/** Independent of how the agent wraps its lines. */
const lettersOf = (text: string) => text.replace(/[^a-z0-9]/g, "");

/**
 * True for an item in one piece, or in pieces: a slow agent reports the end of its turn before the end of a line is on
 * the screen, and the rest is reported later. No two words of the items are the same.
 */
function isTold(item: string, told: string): boolean {
  if (lettersOf(told).includes(lettersOf(item))) return true;
  const places = item.split(" ").map((word) => told.search(new RegExp(`\\b${word}\\b`)));
  return places.every((place, i) => place > (places[i - 1] ?? -1));
}

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
  expect(await sidecar.client.nudge({ message, timeoutMs: 30_000n }), message).toMatchObject({
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

/** A start costs more than a test: each program is started once, and each test begins where the one before it ended. */
describe.each(AGENTS)("$program under a sidecar", ({ kind, program, trust, prints, yes, no, asks }) => {
  let agent: RealAgent;
  beforeAll(async () => {
    const found = await component(kind);
    if ("missing" in found) throw new Error(found.missing);
    agent = await startRealAgent({ program, act, ...(trust !== undefined && { state: "untrusted" }) });
  });
  afterAll(() => agent?.[Symbol.asyncDispose]());

  if (trust !== undefined)
    it("shows a trust dialog, which is answered with yes, and yes is selected first if necessary", async () => {
      const dialog = await openDialog(agent);
      expect(dialog.choices.find((one) => one.selected)?.label).toBe(trust);
      expect(await answer(agent, "Yes, I trust")).toMatchObject({ outcome: RespondOutcome.ANSWERED });
      await agent.sidecar.untilState(AgentState.IDLE);
      expect((await agent.sidecar.client.status({})).restarts).toBe(0);
    });

  if (prints === true)
    it("prints lines, and hardly any is reported twice while the window is resized", async () => {
      const { client, untilState } = agent.sidecar;
      agent.model.wordDelayMs = 5;
      let told = "";
      const leave = new AbortController();
      const reading = (async () => {
        for await (const event of abortOnExit((signal) => client.streamEvents({}, { signal }), leave.signal))
          if (event.type === EventType.STDOUT) told += event.text;
      })().catch(() => {});
      await untilState(AgentState.IDLE);
      const hands = new Hands(agent.sidecar);
      for (const [i, size] of SIZES.entries()) {
        await send(agent, `go on ${i}`);
        await hands.resize(...size);
        await untilState(AgentState.IDLE);
        await until("the last line", 30_000, () => told.includes(nameOf((i + 1) * PER_ANSWER - 1)) || undefined);
      }
      leave.abort();
      await reading;
      agent.model.wordDelayMs = 0;
      const items = Array.from({ length: PRINTED }, (_, n) => n);
      expect(items.filter((n) => !isTold(itemOf(n), told))).toEqual([]);
      const times = items.map((n) => told.split(nameOf(n)).length - 1);
      expect(times.reduce((sum, count) => sum + count, 0)).toBeLessThan(PRINTED * 1.15);
    });

  it("takes each kind of message once, as the model's log and the receipt agree", async () => {
    const { model, sidecar, workdir } = agent;
    await writeFile(join(workdir, "note.txt"), "x");
    await sidecar.untilState(AgentState.IDLE);
    for (const [what, message] of MESSAGES) {
      const before = model.requests.length;
      const asked = () => model.requests.slice(before).filter((request) => request.withTools);
      await send(agent, message);
      await until(`the model to get ${what}`, 60_000, () => asked().length > 0 || undefined);
      await sidecar.untilState(AgentState.IDLE);
      const safe = profileNamed(kind).defuse(message);
      if (safe.type !== "safe") throw new Error(safe.reason);
      expect(
        asked().map(({ lastUserText }) => comparable(bare(lastUserText))),
        what,
      ).toEqual([comparable(safe.text)]);
    }
    for (const [what, message] of MESSAGES.filter(([, one]) => one.includes("marker")))
      expect(model.arrivals(message), what).toBe(1);
    expect(existsSync(join(workdir, "shell-command-ran"))).toBe(false);
    expect((await sidecar.client.peek({ lines: 50 })).output).toContain("right");
  });

  it("has its dialogs answered once, with the requested choice", async () => {
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
