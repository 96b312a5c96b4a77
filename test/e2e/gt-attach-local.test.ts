import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, expect, it } from "vitest";
import { programFile } from "../support/programs.ts";
import { OWN_TERMINAL, terminalState } from "../support/sidecar/attached.ts";
import { type PersonTerminal, personTerminal } from "../support/sidecar/person-terminal.ts";

const MAIN = programFile("gt");
let dir: string;
let socket: string;
const tmux = async (...args: readonly string[]) => (await execa("tmux", ["-S", socket, ...args])).stdout.trim();

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-local-"));
  socket = join(dir, "tmux.sock");
  await tmux(
    "-f",
    "/dev/null",
    "new-session",
    "-d",
    "-s",
    "gt-toast",
    "-x",
    "120",
    "-y",
    "40",
    "printf agent; exec cat",
  );
});
afterEach(async () => {
  await tmux("kill-server").catch(() => {});
  await rm(dir, { recursive: true, force: true });
});

function person(command: string): PersonTerminal {
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir, LANG: "C.UTF-8", XDG_RUNTIME_DIR: dir };
  return personTerminal({ command, env, cols: 90, rows: 25 });
}

it("attaches to a local agent by tmux, with tmux's keys, and exits with tmux's code", async () => {
  await using ann = person(`clear; gt attach gt-toast --socket ${socket}; echo "code $?"`);
  await ann.sees("agent");
  await ann.sees("[gt-toast]");
  ann.type("hello\r");
  await ann.sees("hello\nhello");
  expect(await tmux("list-clients", "-F", "#{client_flags}")).not.toContain("read-only");
  ann.type("\x02d");
  await ann.sees(/^code 0/m);
  expect(ann.text()).toContain("[detached (from session gt-toast)]");
  expect(ann.raw()).not.toMatch(/Warning/);
  expect(terminalState(ann)).toEqual(OWN_TERMINAL);
});

it("types nothing with --read-only, and does not change the window's size", async () => {
  await using ann = person(`clear; gt attach gt-toast --read-only --socket ${socket}; echo "code $?"`);
  await ann.sees("agent");
  ann.type("nothing");
  expect(await tmux("list-clients", "-F", "#{client_flags}")).toMatch(/ignore-size.*read-only|read-only.*ignore-size/);
  expect(await tmux("capture-pane", "-p", "-t", "gt-toast")).toBe("agent");
  ann.type("\x02d");
  await ann.sees(/^code 0/m);
});

it("refuses --detach-keys for a local agent, and names tmux's keys", async () => {
  await using ann = person(`clear; gt attach gt-toast --detach-keys ctrl-p --socket ${socket}; echo "code $?"`);
  await ann.sees(/^code 2/m);
  expect(ann.text()).toContain("--detach-keys is for an agent behind a sidecar");
  expect(ann.text()).toContain("gt: hint: usually Ctrl-b d");
});

it("switches to the agent's session inside the same tmux, and back", async () => {
  await tmux("new-session", "-d", "-s", "work", "-x", "90", "-y", "24", "PS1='> ' exec sh");
  await using ann = person(`clear; tmux -S ${socket} attach -t work; echo "code $?"`);
  await ann.sees(/^> /m);
  ann.type(`HOME=${dir} XDG_RUNTIME_DIR=${dir} ${process.execPath} ${MAIN} attach gt-toast --socket ${socket}\r`);
  await ann.sees("[gt-toast]");
  ann.type("\x02L");
  await ann.sees("[work]");
  ann.type("\x02d");
  await ann.sees(/^code 0/m);
});

it("lists the agents that run here when there is no such agent", async () => {
  await using ann = person(`gt attach gt-nobody --socket ${socket}; echo "code $?"`);
  await ann.sees(/^code 3/m);
  expect(ann.text().replaceAll("\n", "")).toContain('gt: error: no agent "gt-nobody"; running here: ');
});
