import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, type ExpectStatic, it } from "vitest";
import { payloadName } from "../../internal/agents/hook-lines.ts";
import { comparable } from "../../internal/agents/safe-text.ts";
import { surroundingsOf } from "../../internal/pane/state/surroundings.ts";
import type { AgentProgram } from "../support/agents/agents-install.ts";
import { TmuxAgent } from "../support/agents/tmux-agent.ts";

/** The first use installs the programs. */
const LONG = 300_000;
/**
 * OpenCode works for ten seconds before it draws its first screen, and for some more before its first turn reaches the
 * model; here it shares two processors with many others.
 */
const START_MS = 180_000;
const STEP_MS = 60_000;

async function submit(session: TmuxAgent, text: string): Promise<void> {
  await session.paste(text);
  await session.until(
    "the text",
    (view) => (view.composer?.text ?? "") !== "" || (view.composer?.pasteMarkers ?? 0) > 0,
  );
  await sleep(150);
  // An agent that has just started drops an Enter, or takes it late; an agent with an invisible composer gets only one.
  const before = session.model.requests.length;
  for (let tries = 0; tries < 3; tries++) {
    const { composer: standing } = session.profile.view(await session.screen());
    if (tries > 0 && standing === undefined) return;
    await session.key("Enter");
    for (const end = performance.now() + 5000; performance.now() < end; await sleep(75)) {
      const { composer } = session.profile.view(await session.screen());
      if (composer?.text === "" && composer.pasteMarkers === 0) return;
      if (session.model.requests.length > before) return;
    }
  }
}

async function arrives(session: TmuxAgent): Promise<void> {
  for (const end = performance.now() + STEP_MS; performance.now() < end; await sleep(25)) {
    if (session.model.requests.some((request) => request.withTools)) return;
  }
  throw new Error("nothing arrived at the model");
}

const PROGRAMS: readonly AgentProgram[] = ["claude-2.1.330", "claude-2.1.197", "codex-0.169.0", "opencode-1.18.33"];

/**
 * A start costs more than all the steps: each program is started once, and each step continues where the previous one
 * ended.
 */
describe.concurrent.each(PROGRAMS)("%s", (program) => {
  it("shows when it works, rests or asks, and tells by its hooks", { timeout: LONG }, async ({ expect }) => {
    await using session = await TmuxAgent.start({
      program,
      ...(program.startsWith("claude") && { args: ["--permission-mode", "default"], prepare: writeOwnHooks }),
    });
    await session.idle(START_MS);
    if (program.startsWith("claude")) await checkHooks(session, expect);
    if (program.startsWith("opencode")) await checkPlugin(session, expect);
    await checkMotion(session, expect);
    await checkWorkAndDialogs(session, expect);
    if (program.startsWith("claude")) await checkStateFile(session, expect);
  });
});

async function checkWorkAndDialogs(session: TmuxAgent, expect: ExpectStatic): Promise<void> {
  session.model.wordDelayMs = 100;
  await submit(session, "TALK 20");
  await session.until("work", (view) => view.busy !== undefined);
  session.model.wordDelayMs = 0;
  await session.idle();
  await submit(session, "RUN-TOOL touch tool-ran");
  // While a dialog is being drawn, it may look like one of another kind.
  const { dialog } = await session.until("a permission", (view) => view.dialog?.kind === "permission");
  expect(dialog?.choices.length).toBeGreaterThanOrEqual(3);
  expect(dialog?.choices.filter((choice) => choice.selected)).toHaveLength(1);
  await session.key("Escape");
  await session.idle();
  expect(existsSync(join(session.home.workdir, "tool-ran"))).toBe(false);
}

/** The number of different frames around its composer within this time. */
async function framesSeen(session: TmuxAgent, ms: number): Promise<number> {
  let shown = "";
  let frames = 0;
  for (const end = performance.now() + ms; performance.now() < end; await sleep(100)) {
    const screen = await session.screen();
    const now = surroundingsOf(screen, session.profile.view(screen), session.profile.movesBelow === true);
    if (now !== shown) frames += 1;
    shown = now;
  }
  return frames;
}

/** Whatever its wording, the area around its composer changes while it works, and stays still while it rests. */
async function checkMotion(session: TmuxAgent, expect: ExpectStatic): Promise<void> {
  await sleep(2000);
  expect(await framesSeen(session, 6000)).toBe(1);
  session.model.wordDelayMs = 5000; // a model that thinks before its first word
  await submit(session, "TALK 2");
  await session.until("work", (view) => view.busy !== undefined);
  expect(await framesSeen(session, 8000)).toBeGreaterThanOrEqual(6); // at least its count of seconds changes
  session.model.wordDelayMs = 0;
  await session.idle();
}

/** The program must not have taken a message yet. */
async function checkPlugin(session: TmuxAgent, expect: ExpectStatic): Promise<void> {
  const words = () =>
    session.hookLines
      .filter((line) => !/^(?:activity$|session )/.test(line))
      .map((line) => line.replace(/ payload.*/, ""));
  const text = `first line\n${"x".repeat(20_000)}`;
  await submit(session, text);
  await expect.poll(words, { timeout: START_MS }).toEqual(["prompt-submitted", "turn-ended"]);
  expect(session.hookLines.filter((line) => line.startsWith("session "))).toEqual([
    expect.stringMatching(/^session ses_\w+$/),
  ]);
  const line = session.hookLines.find((entry) => entry.startsWith("prompt-submitted")) ?? "";
  const event = session.profile.readHook(
    line,
    await readFile(join(session.dir, "hooks", payloadName(line) ?? ""), "utf8"),
  );
  expect(event?.type === "prompt-submitted" && comparable(event.prompt ?? "")).toBe(text);
  await session.idle();
  await submit(session, "RUN-TOOL touch tool-ran");
  await expect
    .poll(words, { timeout: STEP_MS })
    .toEqual(["prompt-submitted", "turn-ended", "prompt-submitted", "waiting permission"]);
  await session.key("Escape");
  await expect.poll(() => words().at(-1), { timeout: STEP_MS }).toBe("turn-ended");
  await session.idle();
}

const OWN_HOOKS = { hooks: { Stop: [{ hooks: [{ type: "command", command: "touch own-hook-ran" }] }] } };

async function writeOwnHooks(home: string): Promise<void> {
  await mkdir(join(home, ".claude"), { recursive: true });
  await writeFile(join(home, ".claude", "settings.json"), JSON.stringify(OWN_HOOKS));
}

/** The program must not have taken a message yet. Its hooks report start, prompt and end beside the user's own. */
async function checkHooks(session: TmuxAgent, expect: ExpectStatic): Promise<void> {
  const text = `first line\n${"x".repeat(20_000)}`;
  await submit(session, text);
  await arrives(session);
  await session.idle();
  await expect
    .poll(() => session.hookLines.map((line) => line.split(" ")[0]))
    .toEqual(["session-start", "prompt-submitted", "turn-ended"]);
  const name = payloadName(session.hookLines[1] ?? "") ?? "";
  const payload = await readFile(join(session.dir, "hooks", name), "utf8");
  expect(session.profile.readHook(session.hookLines[1] ?? "", payload)).toEqual({
    type: "prompt-submitted",
    prompt: text,
    agentSessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(JSON.parse(await readFile(join(session.home.home, ".claude", "settings.json"), "utf8"))).toEqual(OWN_HOOKS);
  await expect.poll(() => readdir(session.home.workdir)).toEqual(["own-hook-ran"]);
}

async function checkStateFile(session: TmuxAgent, expect: ExpectStatic): Promise<void> {
  const pid = Number((await session.tmux("display-message", "-p", "-t", "claude:", "#{pane_pid}")).trim());
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const startTicks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  const read = async () =>
    session.profile.readStateFile(await readFile(session.profile.stateFile(session.home.home, pid) ?? "", "utf8"), {
      pid,
      startTicks,
    });
  await expect.poll(read).toEqual({ type: "idle", background: "none" });
  session.model.wordDelayMs = 100;
  await submit(session, "TALK 20");
  await expect.poll(read).toEqual({ type: "busy" });
  await expect.poll(read, { timeout: STEP_MS }).toEqual({ type: "idle", background: "none" });
}

it.concurrent("codex-0.169.0 shows that it works without its title as well", { timeout: LONG }, async () => {
  await using session = await TmuxAgent.start({
    program: "codex-0.169.0",
    args: ["-c", "tui.terminal_title=[]"],
  });
  await session.idle(START_MS);
  session.model.wordDelayMs = 2500;
  await submit(session, "TALK 3");
  await session.until("a model that thinks", (view, { title }) => view.busy === "Working" && title === "");
  await session.until("a turn that goes on in silence", (view) => view.busy === "a turn without its end");
  await session.until("its end", (view) => view.busy === undefined);
  session.model.wordDelayMs = 0;
  await submit(session, "RUN-TOOL sleep 3; touch tool-ran");
  await session.until("a dialog", (view) => view.dialog !== undefined);
  await sleep(300);
  await session.key("Enter");
  await session.until("a tool that runs", (view) => view.busy === "Working");
  await session.until("its end", (view) => view.busy === undefined && view.composer !== undefined);
});
