import { describe, expect, it } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { readConfig } from "./config.ts";

type Env = Record<string, string>;

function place(line: string, env: Env = {}) {
  const command = readConfig(["status", ...line.split(" ").filter(Boolean)], env);
  if (command.type !== "status") throw new Error(command.type);
  const { host, port, server, socket, localOnly } = command.place;
  return { host, port, server, socket, localOnly };
}

function failure(argv: string[], env: Env = {}): [string, unknown] {
  try {
    readConfig(argv, env);
  } catch (err) {
    if (err instanceof DomainError && err.kind === "invalid") return [err.message, err.fields["hint"]];
    throw err;
  }
  throw new Error("nothing was thrown");
}

const nowhere = { host: undefined, port: undefined, server: undefined, socket: undefined, localOnly: false };

describe("where", () => {
  it.each<[string, Env, object]>([
    ["", {}, {}],
    ["", { GT_SIDECAR_HOST: "h", GT_SIDECAR_PORT: "7" }, { host: "h", port: 7 }],
    ["--host x", { GT_SIDECAR_HOST: "h", GT_SIDECAR_PORT: "7" }, { host: "x" }],
    ["--port 9", { GT_SERVER: "s" }, { port: 9 }],
    ["--server s", { GT_SIDECAR_HOST: "h" }, { server: "s" }],
    ["--socket t", { GT_SIDECAR_HOST: "h", GT_SERVER: "s" }, { socket: "t", localOnly: true }],
    ["", { GT_TMUX_SOCKET: "t" }, { socket: "t" }],
    ["", { GT_TMUX_SOCKET: "", GT_SIDECAR_HOST: "" }, {}],
  ])("%j with %j is %j", (line, env, expected) => {
    expect(place(line, env)).toEqual({ ...nowhere, ...expected });
  });

  it.each([
    [
      ["status", "--socket", "a", "--host", "b"],
      "--socket is for local tmux, --host, --port and --server are for elsewhere: give one of them",
    ],
    [["status", "--port", "0"], "not a port: 0"],
  ])("%j: %s", (argv, message) => {
    expect(failure(argv)[0]).toBe(message);
  });

  it("names the variable that is wrong", () => {
    expect(failure(["status"], { GT_SIDECAR_PORT: "x" })[0]).toBe('GT_SIDECAR_PORT needs a port, not "x"');
  });
});

describe("peek", () => {
  it.each([
    [["toast"], { agent: "toast", lines: 100, all: false, follow: false }],
    [["toast", "5"], { lines: 5 }],
    [["toast", "5", "-n", "9"], { lines: 5 }],
    [["-n", "9", "toast"], { lines: 9 }],
    [["toast", "--all", "--ansi", "--json"], { all: true, ansi: true, json: true }],
    [["toast", "-f"], { follow: true }],
  ])("%j", (argv, expected) => {
    expect(readConfig(["peek", ...argv], {})).toMatchObject({ type: "peek", ...expected });
  });

  it.each([
    [[], "which agent?"],
    [["toast", "0"], 'not a number of lines: "0" (1 to 100000)'],
    [["toast", "-5"], "unknown flag -5"],
    [["toast", "-n", "-5"], "not a number of lines: -5 (1 to 100000)"],
    [["toast", "100001"], 'not a number of lines: "100001" (1 to 100000)'],
    [["toast", "five"], 'not a number of lines: "five" (1 to 100000)'],
    [["toast", "5", "6"], 'too many arguments: "6"'],
    [["toast", "5", "--all"], "give a number of lines or --all, not both"],
    [["toast", "--follow", "--json"], "--follow prints lines; gt watch --json streams JSON"],
  ])("%j: %s", (argv, message) => {
    expect(failure(["peek", ...argv])[0]).toBe(message);
  });
});

describe("nudge", () => {
  it.each([
    [["toast", "hello"], { message: "hello", mode: "wait-idle", priority: "normal", timeoutMs: 75_000, requestId: "" }],
    [["toast", "hello", "-m", "hi"], { message: "hi" }],
    [["toast", "--", "-n 5"], { message: "-n 5" }],
    [["toast", "-m", "-n 5"], { message: "-n 5" }],
    [
      ["toast", "x", "--mode", "queue", "--priority=urgent", "--timeout", "2s"],
      { mode: "queue", priority: "urgent", timeoutMs: 2000 },
    ],
    [["toast", "x", "-f", "--if-fresh", "--request-id", "a-1"], { force: true, ifFresh: true, requestId: "a-1" }],
  ])("%j", (argv, expected) => {
    expect(readConfig(["nudge", ...argv], {})).toMatchObject({ type: "nudge", ...expected });
  });

  it("reads stdin when told to", () => {
    expect(readConfig(["nudge", "toast", "--stdin"], {})).not.toHaveProperty("message");
  });

  it("says who sends: the role, else user and machine", () => {
    const sender = (env: Env) => (readConfig(["nudge", "toast", "x"], env) as { sender: string }).sender;
    expect(sender({ GT_ROLE: "gastown/witness", USER: "ann" })).toBe("gastown/witness");
    expect(sender({ USER: "ann" })).toMatch(/^ann@./);
  });

  it.each([
    [["toast"], "no message"],
    [["toast", "x", "y"], 'too many arguments: "y"'],
    [["toast", "--stdin", "-m", "x"], "give --message or --stdin, not both"],
    [["toast", "x", "--mode", "now"], '--mode is wait-idle, immediate, queue; not "now"'],
    [["toast", "x", "--priority", "high"], '--priority is normal, urgent; not "high"'],
    [["toast", "x", "--timeout", "11m"], "--timeout is between 1ms and 10m"],
    [["toast", "x", "--request-id", "a b"], "--request-id has 1 to 128 letters, digits, dots, dashes or underscores"],
  ])("%j: %s", (argv, message) => {
    expect(failure(["nudge", ...argv])[0]).toBe(message);
  });
});

describe("commands", () => {
  it.each([
    [[], { type: "help" }],
    [["--help"], { type: "help" }],
    [["help", "peek"], { type: "help", topic: "peek" }],
    [["peek", "-h"], { type: "help", topic: "peek" }],
    [["--version"], { type: "version" }],
    [["peek", "--version"], { type: "version" }],
    [["completion", "bash"], { type: "completion", shell: "bash" }],
    [["agents", "-q"], { type: "agents", quiet: true }],
    [["status"], { type: "status" }],
    [["watch", "toast", "--interval", "1s"], { type: "watch", intervalMs: 1000 }],
    [["attach", "toast"], { type: "attach", readOnly: false, detachKeys: { text: "Ctrl-]" } }],
    [
      ["attach", "toast", "-r", "--detach-keys", "ctrl-p,ctrl-q"],
      { type: "attach", readOnly: true, detachKeys: { text: "Ctrl-p Ctrl-q" } },
    ],
  ])("%j is %j", (argv, expected) => {
    expect(readConfig(argv, {})).toMatchObject(expected);
  });

  it.each([
    [["conquer", "toast"], 'unknown command "conquer"', "gt help lists the commands"],
    [["attach"], "which agent?", "gt attach --help shows how"],
    [
      ["attach", "toast", "--detach-keys", "escape"],
      'cannot detach with the keys "escape"',
      "write them as in ctrl-] or ctrl-p,ctrl-q",
    ],
    [["peak", "toast"], 'unknown command "peak"', "did you mean gt peek?"],
    [["help", "nothing"], 'unknown command "nothing"', "gt help lists the commands"],
    [["watch"], "which agent?", "gt watch --help shows how"],
    [["watch", "toast", "--interval", "1ms"], "--interval is between 10ms and 1m", "gt watch --help shows how"],
  ])("%j: %s", (argv, message, hint) => {
    expect(failure(argv)).toEqual([message, hint]);
  });
});
