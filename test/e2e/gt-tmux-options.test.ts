import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { it } from "vitest";
import { type AgentPlace, demoAgent, inLocalTmux, takenMessages } from "../support/agents/agent-places.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";
import type { Ran } from "../support/run-to-end.ts";

const run = promisify(execFile);

interface OptionPlace extends AgentPlace {
  /** Runs `gt COMMAND toast …` for the demo agent. */
  readonly gt: (command: string, ...args: string[]) => Promise<Ran>;
  /** Sends a command to the person's tmux server. */
  readonly tmux: (...args: string[]) => Promise<string>;
}

async function demoInTmux(): Promise<OptionPlace> {
  const place = await inLocalTmux({
    argv: (dir) => demoAgent(dir, "--seed", "7"),
    profile: "demo",
    cols: 90,
    rows: 40,
  });
  const [, socket = ""] = place.flags;
  await eventually(
    "it is idle",
    async () => (await place.backend.status(AbortSignal.timeout(60_000))).state === "idle",
  );
  return {
    ...place,
    gt: (command, ...args) => gt([command, "toast", ...place.flags, ...args], place.env),
    tmux: async (...args) => (await run("tmux", ["-S", socket, ...args], { env: place.env })).stdout,
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

it.concurrent("types nothing while synchronize-panes would copy it to another pane, and leaves the option as it is", async ({
  expect,
}) => {
  await using place = await demoInTmux();
  const other = join(place.dir, "other-pane");
  await writeFile(other, "");
  await place.tmux("split-window", "-d", "-l", "5", "-t", "=gt-toast:", `cat > ${other}`);
  const asked = await place.gt("nudge", "run: touch forbidden", "--request-id", "first");
  expect(asked).toMatchObject({ code: 0, stderr: "" });
  await eventually(
    "the dialog",
    async () => (await place.backend.status(AbortSignal.timeout(60_000))).dialog !== undefined,
  );
  await place.tmux("set-option", "-w", "-t", "=gt-toast:", "synchronize-panes", "on");

  const answered = await place.gt("respond", "1");
  expect(answered).toMatchObject({ code: 6, stdout: "" });
  expect(answered.stderr).toMatch(/^gt: error: \S*toast was not answered: .*synchronize-panes/);
  const pressed = await place.gt("keys", "C-u");
  expect(pressed).toMatchObject({ code: 6, stdout: "" });
  expect(pressed.stderr).toMatch(
    /^gt: error: .*synchronize-panes.*\ngt: hint: tmux set-option -w synchronize-panes off/,
  );
  expect(await place.gt("keys", "--text", "rm -rf")).toMatchObject({ code: 6, stdout: "" });
  // Without synchronized panes, only the agent's pane gets the answer.
  await place.tmux("set-option", "-w", "-t", "=gt-toast:", "synchronize-panes", "off");
  expect(await place.gt("respond", "1")).toMatchObject({ code: 0 });
  await eventually(
    "it is idle again",
    async () => (await place.backend.status(AbortSignal.timeout(60_000))).state === "idle",
  );

  await place.tmux("set-option", "-w", "-t", "=gt-toast:", "synchronize-panes", "on");
  const nudged = await place.gt("nudge", "hello", "--request-id", "second");
  expect(nudged).toMatchObject({ code: 6, stdout: "" });
  expect(nudged.stderr).toMatch(
    /^gt: error: not delivered to \S*toast: .*synchronize-panes.*\ngt: hint: tmux set-option /,
  );
  expect(await readFile(other, "utf8")).toBe("");
  expect((await takenMessages(place)).filter((text) => text === "hello")).toEqual([]);
  expect(await place.tmux("show-options", "-wv", "-t", "=gt-toast:", "synchronize-panes")).toBe("on\n");

  // With a single pane, no other pane receives the keys.
  await place.tmux("kill-pane", "-a", "-t", "=gt-toast:.0");
  expect(await place.gt("nudge", "hello", "--request-id", "third")).toMatchObject({ code: 0, stderr: "" });
});

/** Each option has a value that people use, or the most harmful one. */
const OPTIONS: readonly (readonly string[])[] = [
  ["-g", "base-index", "1"],
  ["-g", "default-command", "false"],
  ["-g", "default-shell", "/bin/false"],
  ["-g", "history-limit", "0"],
  ["-g", "key-table", "prefix"],
  ["-g", "mouse", "on"],
  ["-g", "prefix", "C-a"],
  ["-g", "status", "5"],
  ["-g", "renumber-windows", "on"],
  ["-g", "visual-bell", "both"],
  ["-g", "assume-paste-time", "0"],
  ["-g", "lock-after-time", "1"],
  ["-g", "set-titles", "on"],
  ["-gw", "aggressive-resize", "on"],
  ["-gw", "allow-rename", "on"],
  ["-gw", "automatic-rename", "on"],
  ["-gw", "mode-keys", "vi"],
  ["-gw", "monitor-activity", "on"],
  ["-gw", "monitor-silence", "1"],
  ["-gw", "pane-base-index", "1"],
  ["-gw", "remain-on-exit", "off"],
  ["-gw", "window-size", "smallest"],
  ["-gw", "wrap-search", "off"],
  ["-s", "backspace", "C-h"],
  ["-s", "buffer-limit", "1"],
  ["-s", "copy-command", "false"],
  ["-s", "default-terminal", "screen"],
  ["-s", "escape-time", "0"],
  ["-s", "exit-empty", "off"],
  ["-s", "extended-keys", "always"],
  ["-s", "focus-events", "on"],
  ["-s", "message-limit", "0"],
  ["-s", "set-clipboard", "on"],
  ["-s", "command-alias[90]", "peek=capture-pane -p"],
];

it.concurrent("works with a person's own options and hooks", async ({ expect }) => {
  await using place = await demoInTmux();
  for (const option of OPTIONS) await place.tmux("set-option", ...option);
  for (const hook of ["after-send-keys", "after-paste-buffer", "after-capture-pane", "after-copy-mode"]) {
    await place.tmux("set-hook", "-g", hook, "display-message -p hooked");
  }
  expect(await place.gt("nudge", "hello\nto you", "--request-id", "one")).toMatchObject({ code: 0, stderr: "" });
  await eventually("it came", async () => (await takenMessages(place)).includes("hello\nto you"));
  await eventually("it is idle", async () => (await place.gt("status")).stdout.includes("idle for"));
  expect(await place.gt("keys", "--text", "half a thought")).toEqual({ code: 0, stdout: "", stderr: "" });
  await eventually("the text", async () => (await place.gt("peek")).stdout.includes("> half a thought"));
  expect(await place.gt("keys", "C-u")).toEqual({ code: 0, stdout: "", stderr: "" });
  await eventually("the text is gone", async () => !(await place.gt("peek")).stdout.includes("half a thought"));
  expect(await place.gt("nudge", "run: touch allowed", "--request-id", "two")).toMatchObject({ code: 0 });
  await eventually("the dialog", async () => (await place.gt("status")).stdout.includes("dialog"));
  expect(await place.gt("respond", "1")).toMatchObject({ code: 0 });
});

it.concurrent("types nothing where an alias has the name of a command that gt needs, and says so", async ({
  expect,
}) => {
  await using place = await demoInTmux();
  await place.tmux("set-option", "-s", "command-alias[90]", "send-keys=display-message -p");
  const pressed = await place.gt("keys", "--text", "half a thought");
  expect(pressed).toMatchObject({ code: 3, stdout: "" });
  expect((await place.gt("peek")).stdout).not.toContain("half a thought");
});
