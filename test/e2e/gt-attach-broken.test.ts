import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { afterwards, attached, OWN_TERMINAL, SANE, terminalState } from "../support/sidecar/attached.ts";
import { demoCommand, RESTART_MS, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

/** Puts the demo agent's terminal into every mode that would disturb a person who gets the terminal back. */
const WILD = [
  "sh",
  "-c",
  "printf '\\033[?1003h\\033[?1006h\\033[?2004h\\033[?1h\\033=\\033[?25l\\033]2;wild\\007wild\\033[31m'; exec cat",
];

function wildSidecar(): Promise<RunningSidecar> {
  return startSidecar({ agent: "generic", command: WILD });
}

/** A sidecar's start costs more than a test: each test begins where the one before it ended. */
describe("gt attach to one sidecar", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar();
  });
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  it("ends when its terminal vanishes, although it gets no signal and has nothing to draw", async () => {
    await sidecar.untilState(AgentState.IDLE);
    await using person = await attached(sidecar, { by: "setsid -w" }); // in a session of its own it gets no signal
    const people = async () => (await sidecar.client.status({})).attached;
    expect(await people()).toBe(1);
    await person.sees(() => !person.text().includes("detaches")); // the notice is gone: nothing is drawn from here on
    person.vanish();
    await until("gt to leave", 60_000, async () => (await people()) === 0 || undefined);
    await until("its own size", 30_000, async () => (await sidecar.client.status({})).cols === 160 || undefined);
  });

  it("restores the window's size when the person is cut off together with the serving half", async () => {
    await sidecar.untilState(AgentState.IDLE);
    await using person = await attached(sidecar);
    await until("the size", 30_000, async () => (await sidecar.client.status({})).cols === 100 || undefined);
    process.kill(await person.childPid(), "SIGKILL");
    process.kill(sidecar.servingPid(), "SIGKILL");
    const own = async () => (await sidecar.client.status({}).catch(() => ({ cols: 0 }))).cols === 160 || undefined;
    await until("its own size", RESTART_MS, own);
  });

  it("continues by itself when the serving half is killed, and the window keeps the person's size", async () => {
    await sidecar.untilState(AgentState.IDLE);
    await using person = await attached(sidecar);
    await person.sees("> Type a message");
    await until("the size", 30_000, async () => (await sidecar.client.status({})).cols === 100 || undefined);
    const before = sidecar.servingPid();
    process.kill(before, "SIGKILL");
    await person.sees("reconnected", RESTART_MS);
    expect(sidecar.servingPid()).not.toBe(before);
    expect((await sidecar.client.status({})).cols).toBe(100);
    person.type("still here");
    await person.sees("> still here");
    person.type("\r");
    await until("the message", 30_000, async () => (await sidecar.taken()).length > 0 || undefined);
    expect(await sidecar.taken()).toEqual(["still here"]);
  });

  it("says in one line why it cannot attach, and leaves the terminal untouched", async () => {
    const gone = { ...sidecar, port: 1, [Symbol.asyncDispose]: () => Promise.resolve() };
    await using person = await attached(gone, { sees: "code 4" });
    expect(await afterwards(person, sidecar.dir)).toEqual({ code: 4, ...SANE });
    expect(person.text()).toContain("gt: error: 127.0.0.1:1: cannot be reached");
    expect(person.raw()).not.toContain("\x1b[?1049h");
  });
});

it.each(["SIGTERM", "SIGHUP"] as const)("restores the terminal when %s ends gt", async (signal) => {
  await using sidecar = await wildSidecar();
  await using person = await attached(sidecar);
  await person.sees(() => terminalState(person).mouse === "any" && terminalState(person).cursorHidden);
  expect(terminalState(person)).toMatchObject({
    screen: "alternate",
    applicationCursor: true,
    applicationKeypad: true,
  });
  process.kill(await person.childPid(), signal);
  const code = signal === "SIGTERM" ? 143 : 129;
  expect(await afterwards(person, sidecar.dir)).toEqual({ code, ...SANE });
});

it("waits for a lost sidecar until the person detaches, and restores the terminal", async () => {
  await using sidecar = await wildSidecar();
  await using person = await attached(sidecar);
  await person.sees("wild");
  // Kills both halves at once: neither can end the stream gracefully, start the other again, or end tmux.
  for (const pid of [sidecar.process.pid ?? 0, sidecar.servingPid()]) process.kill(pid, "SIGKILL");
  await promisify(execFile)("tmux", ["-S", join(sidecar.stateDir, "tmux.sock"), "kill-server"]);
  await person.sees("connection lost, reconnecting … Ctrl-] detaches");
  person.type("into the void");
  person.type("\x1d");
  expect(await afterwards(person, sidecar.dir)).toEqual({ code: 0, ...SANE });
});

it("prints the reason when the sidecar shuts down", async () => {
  await using sidecar = await wildSidecar();
  await using person = await attached(sidecar);
  await person.sees("wild");
  sidecar.process.kill("SIGTERM");
  expect(await afterwards(person, sidecar.dir)).toEqual({ code: 0, ...SANE });
  expect(person.text()).toMatch(/gt: note: test\/polecats\/demo: the (sidecar is shutting down|agent has ended)/);
});

it("gives the terminal to the shell while it is stopped, and redraws everything afterwards", async () => {
  await using sidecar = await startSidecar((dir) => ({ command: demoCommand(dir) }));
  await sidecar.untilState(AgentState.IDLE);
  await using person = await attached(sidecar);
  await person.sees("> Type a message");
  const pid = await person.childPid();
  process.kill(pid, "SIGTSTP");
  await person.sees("what stood here");
  await person.sees("Stopped"); // a shell that has not noticed the stop continues to wait for the program
  await expect.poll(() => terminalState(person)).toEqual(OWN_TERMINAL);
  // It is continued while the shell has the terminal: it must not draw.
  process.kill(pid, "SIGCONT");
  person.type("echo the shell; echo is here\r");
  await person.sees("the shell\nis here");
  await expect.poll(() => terminalState(person)).toEqual(OWN_TERMINAL);
  person.type("fg\r");
  await person.sees("> Type a message");
  await expect.poll(() => terminalState(person)).toMatchObject({ screen: "alternate", bracketedPaste: true });
  person.type("after a pause");
  await person.sees("> after a pause");
  person.type("\x1d");
  await person.sees("gt: note: detached from test/polecats/demo");
  await expect.poll(() => terminalState(person)).toEqual(OWN_TERMINAL);
});
