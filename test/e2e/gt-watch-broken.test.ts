import { spawn } from "node:child_process";
import { expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { programFile } from "../support/programs.ts";
import { OWN_TERMINAL, terminalState } from "../support/sidecar/attached.ts";
import { type PersonTerminal, personTerminal } from "../support/sidecar/person-terminal.ts";
import { RESTART_MS, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

const LOST = "the connection was lost, reconnecting (127.0.0.1:";
const BACK = /reconnected after \d+/;

async function idleSidecar(): Promise<RunningSidecar> {
  const sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  return sidecar;
}

function environment({ dir, runtimeDir }: RunningSidecar): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: dir, LANG: "C.UTF-8", XDG_RUNTIME_DIR: runtimeDir, USER: "ann" };
}

/** A person who runs a command of gt on the demo agent, from a shell. */
async function looking(sidecar: RunningSidecar, command: string): Promise<PersonTerminal> {
  const place = `--host ${sidecar.host} --port ${sidecar.port}`;
  const person = personTerminal({
    command: `clear; echo what stood here; gt ${command} test/polecats/demo ${place}; echo "code $?"`,
    env: environment(sidecar),
  });
  await person.sees("> Type a message");
  return person;
}

/** Kills the serving half; no other starts until `meanwhile` is over. */
async function interrupted(sidecar: RunningSidecar, meanwhile: () => Promise<void>): Promise<void> {
  const before = sidecar.servingPid();
  process.kill(sidecar.process.pid ?? 0, "SIGSTOP");
  process.kill(before, "SIGKILL");
  try {
    await meanwhile();
  } finally {
    process.kill(sidecar.process.pid ?? 0, "SIGCONT");
  }
  await until("another serving half", RESTART_MS, () => sidecar.servingPid() !== before || undefined);
}

it("gt watch keeps the picture while the serving half is down, notes the lost connection above it, and continues", async () => {
  await using sidecar = await idleSidecar();
  await using person = await looking(sidecar, "watch");
  await person.sees(/^test\/polecats\/demo · idle /m);
  const picture = person.rows().slice(2);
  await interrupted(sidecar, async () => {
    await person.sees(LOST);
    // The status call fails too; the header must still say that the connection was lost.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(person.rows()[1]?.startsWith(`test/polecats/demo · ${LOST}`)).toBe(true);
    expect(person.rows().slice(2)).toEqual(picture);
  });
  await person.sees(/^test\/polecats\/demo · idle .* · 127\.0\.0\.1:\d+ · reconnected after /m);
  await sidecar.client.nudge({ message: "still here" });
  await person.sees("> still here");
  await person.sees(() => !BACK.test(person.text()));
  expect(person.text()).not.toContain("connection");
  const rows = person.rows();
  expect(rows[0]).toBe("what stood here");
  expect(rows.filter((row) => row.startsWith("test/polecats/demo · "))).toHaveLength(1);
  expect(rows.filter((row) => row.startsWith("> Type a message"))).toHaveLength(1);
  person.type("\x03");
  await person.sees(/code 130$/m);
  expect(terminalState(person)).toEqual(OWN_TERMINAL);
});

it("gt peek -f notes that the serving half was down, and prints each later line once", async () => {
  await using sidecar = await idleSidecar();
  await using person = await looking(sidecar, "peek -f");
  await interrupted(sidecar, () => person.sees(`gt: note: ${LOST}`));
  await person.sees(/^gt: note: reconnected after \d+/m);
  await sidecar.client.nudge({ message: "still here" });
  await person.sees("Read your message");
  person.type("\x03");
  await person.sees(/code 130$/m);
  const rows = person.rows();
  for (const once of ["what stood here", "Demo agent", "> still here", `gt: note: ${LOST}`, "gt: note: reconnected"]) {
    expect(
      rows.filter((row) => row.startsWith(once)),
      once,
    ).toHaveLength(1);
  }
  const order = ["Demo agent", `gt: note: ${LOST}`, "gt: note: reconnected", "> still here", "Read your message"];
  const places = order.map((text) => rows.findIndex((row) => row.includes(text)));
  expect(places).toEqual([...places].sort((a, b) => a - b));
});

it("gt watch --json reconnects too, with only JSON in its output", async () => {
  await using sidecar = await idleSidecar();
  const main = programFile("gt");
  const args = [main, "watch", "test/polecats/demo", "--json", "--host", sidecar.host, "--port", `${sidecar.port}`];
  const child = spawn(process.execPath, args, { env: environment(sidecar), stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const printed = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    printed.err += text;
  });
  const saw = (from: "out" | "err", text: string | RegExp) =>
    until(
      `${text}`,
      RESTART_MS,
      () => (printed[from].search(text) >= 0 ? true : undefined),
      () => printed[from],
    );
  try {
    await saw("out", "snapshot");
    await interrupted(sidecar, () => saw("err", "the connection was lost").then(() => {}));
    await saw("err", BACK);
    await sidecar.client.nudge({ message: "still here" });
    await saw("out", "> still here");
    const lines = printed.out.trim().split("\n");
    const kinds = lines.map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds.filter((kind) => kind === "snapshot")).toHaveLength(2);
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
});
