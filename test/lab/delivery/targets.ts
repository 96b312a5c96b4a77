import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type AgentProgram, agentProgram } from "../../support/agents/agents-install.ts";
import { type RealAgentSetup, startRealAgent } from "../../support/agents/real-agent.ts";
import { demoCommand, startSidecar } from "../../support/sidecar/sidecar.ts";
import { Bed } from "./bed.ts";
import { fileReceiver, ModelReceiver } from "./receiver.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
/** A dead agent's sidecar keeps answering, so that its refusals can be read. */
const LINGER = ["--linger", "60s"];

type TargetKind = "real" | "demo" | "tui";

/** A program that receives messages. */
export interface Target {
  readonly name: string;
  readonly kind: TargetKind;
  /** The dialogs that it can open, by the message that opens them. */
  readonly dialogs: Readonly<Record<string, string>>;
  /** A message with this word ends or hangs the program. */
  readonly fatal?: string | undefined;
  /** Starts that first lead to a dialog. */
  readonly openings: readonly Opening[];
  /** Its model can refuse for a rate limit. */
  readonly hasLimits: boolean;
  start(sidecarProgram: string | undefined, opening?: Opening): Promise<Bed>;
  /** A person ends the program. */
  leave(bed: Bed): Promise<void>;
  /** The reason why it is not available on this machine; undefined if it is. */
  missing(): Promise<string | undefined>;
}

/** A start whose first screen, or first answer, is a dialog. */
export interface Opening {
  readonly name: string;
  readonly setup: Pick<RealAgentSetup, "state" | "args">;
  /** The person's message before the dialog; absent: the dialog comes by itself. */
  readonly say?: string;
}

const DEMO_DIALOGS = { permission: "run: touch TASK", question: "ask: Which one?|this|that", picker: "/model" };
const DEMO_FAULTS: readonly string[] = [
  "",
  "drop-first-enter",
  "echo-delay=200",
  "no-bracketed-paste",
  "flicker-idle=400",
  "exit-on=zz-fatal,exit-code=3",
  "hang-on=zz-fatal",
  "eat-enter-after-paste=120",
  "open-dialog-on-paste",
  "spinner-always",
  "slow-start=1500",
  "garbage",
];

/**
 * In a new home Claude Code contacts the vendor's own servers before it draws its first screen, and ends if it cannot.
 */
const NEW_HOME: Opening = { name: "a new home", setup: { state: "fresh" } };
const UNKNOWN_HOOKS: Opening = {
  name: "hooks that nobody has looked at",
  setup: { state: "untrusted", args: ["-c", 'hooks.Stop=[{hooks=[{type="command",command="true"}]}]'] },
};
const NEW_FOLDER: Opening = { name: "an unknown folder", setup: { state: "untrusted" } };
const PLANNING: Opening = { name: "plan mode", setup: { args: ["--permission-mode", "plan"] }, say: "PLAN-IT" };

interface RealKind {
  readonly program: AgentProgram;
  readonly dialogs: Target["dialogs"];
  readonly openings: readonly Opening[];
}

const SHELL = { permission: "RUN-TOOL touch TASK" };
const REAL: readonly RealKind[] = [
  {
    program: "claude-2.1.330",
    dialogs: { ...SHELL, question: "ASK-ME now", picker: "/model", theme: "/theme", login: "/login" },
    openings: [NEW_FOLDER],
  },
  {
    program: "claude-2.1.197",
    dialogs: { ...SHELL, question: "ASK-ME now", picker: "/model", theme: "/theme", login: "/login" },
    openings: [NEW_FOLDER, PLANNING],
  },
  { program: "codex-0.169.0", dialogs: { ...SHELL, picker: "/model" }, openings: [NEW_HOME, UNKNOWN_HOOKS] },
  { program: "opencode-1.18.33", dialogs: { ...SHELL, question: "ASK-ME now" }, openings: [] },
];

export const TARGETS: readonly Target[] = [
  ...REAL.map(realTarget),
  ...DEMO_FAULTS.map((faults) => demoTarget(faults, [])),
  demoTarget("", ["--alternate-screen"]),
  tuiTarget("ink", [join(root, "test/ink/app.js")], async () =>
    existsSync(join(root, "test/ink/node_modules/ink")) ? undefined : "not installed: npm ci in test/ink",
  ),
  tuiTarget("prompt_toolkit", [join(root, "test/fakes/prompt-toolkit.py")], async () =>
    run("python3", ["-c", "import prompt_toolkit"]).then(
      () => undefined,
      () => "python3 has no prompt_toolkit: pip install prompt_toolkit",
    ),
  ),
  tuiTarget("bash", [join(root, "test/fakes/line-reader.sh")], async () => undefined),
];

function realTarget({ program, dialogs, openings }: RealKind): Target {
  return {
    name: program,
    kind: "real",
    dialogs,
    openings,
    hasLimits: true,
    leave: (bed) => bed.say(program.startsWith("codex") ? "/quit" : "/exit"),
    missing: () =>
      agentProgram(program).then(
        () => undefined,
        (error) => String(error),
      ),
    start: async (sidecarProgram, opening) => {
      const agent = await startRealAgent({ program, flags: LINGER, ...opening?.setup, sidecarProgram });
      const slow = (isSlow: boolean) => {
        agent.model.wordDelayMs = isSlow ? 60 : 0;
      };
      const limit = (isLimited: boolean) => {
        agent.model.limited = isLimited;
      };
      const parts = { sidecar: agent.sidecar, receiver: new ModelReceiver(agent.model, agent.workdir), owner: agent };
      return new Bed({ ...parts, provesIdle: true, busyText: "TALK 40", slow, limit, quietMs: 200 });
    },
  };
}

function demoTarget(faults: string, flags: readonly string[]): Target {
  const fault = (faults.split(",")[0] || flags[0]?.slice(2)) ?? "plain";
  return {
    name: `demo:${fault}`,
    kind: "demo",
    dialogs: DEMO_DIALOGS,
    openings: [],
    hasLimits: false,
    leave: (bed) => bed.hands.keys("C-d"),
    fatal: faults.includes("zz-fatal") ? "zz-fatal" : undefined,
    missing: async () => undefined,
    start: async (sidecarProgram) => {
      const faultFlags = faults === "" ? [] : ["--faults", faults];
      const sidecar = await startSidecar((dir) => ({
        command: demoCommand(dir, "--turn-ms", "200", ...faultFlags, ...flags),
        flags: LINGER,
        program: sidecarProgram,
      }));
      const receiver = fileReceiver(join(sidecar.dir, "taken.jsonl"), join(sidecar.dir, "tools.log"));
      return new Bed({ sidecar, receiver, owner: sidecar, provesIdle: true, busyText: "work a while", quietMs: 60 });
    },
  };
}

/** A program that is unknown to the sidecar. */
function tuiTarget(name: string, script: readonly string[], missing: Target["missing"]): Target {
  const interpreters: Readonly<Record<string, string>> = {
    ink: process.execPath,
    prompt_toolkit: "python3",
    bash: "bash",
  };
  return {
    name,
    kind: "tui",
    dialogs: {},
    openings: [],
    hasLimits: false,
    leave: (bed) => bed.hands.keys(name === "ink" ? "C-c" : "C-d"),
    missing,
    start: async (sidecarProgram) => {
      const sidecar = await startSidecar((dir) => ({
        agent: "generic",
        command: [interpreters[name] ?? name, ...script, join(dir, "taken")],
        flags: LINGER,
        program: sidecarProgram,
      }));
      const receiver = fileReceiver(join(sidecar.dir, "taken"));
      return new Bed({ sidecar, receiver, owner: sidecar, provesIdle: false, busyText: "", quietMs: 100 });
    },
  };
}
