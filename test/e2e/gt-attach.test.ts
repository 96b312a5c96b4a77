import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { afterwards, attached, SANE, terminalState } from "../support/sidecar/attached.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

/** A sidecar's start costs more than a test: each test begins where the one before it ended. */
describe("gt attach to one sidecar", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar();
  });
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  it("gives the window the person's size, follows it, and restores the window's own", async () => {
    await sidecar.untilState(AgentState.IDLE);
    const size = async () => {
      const { cols, rows } = await sidecar.client.status({});
      return `${cols}x${rows}`;
    };
    const becomes = (wanted: string) => until(wanted, 30_000, async () => (await size()) === wanted || undefined);
    expect(await size()).toBe("160x50");
    await using person = await attached(sidecar);
    await becomes("100x30");
    person.resize(70, 20);
    await becomes("70x20");
    await person.sees(() => person.rows().some((row) => row.startsWith("─".repeat(70))));
    person.type("\x1d");
    await afterwards(person, sidecar.dir);
    await becomes("160x50");
  });

  it("looks without typing", async () => {
    await sidecar.untilState(AgentState.IDLE);
    const before = await sidecar.taken();
    await using person = await attached(sidecar, { flags: "--read-only" });
    await person.sees("read-only · Ctrl-] detaches");
    person.type("nothing of this\r\x03");
    await person.sees("read-only: your keys are not sent");
    const { cols, rows, attached: count, draft } = await sidecar.client.status({});
    expect({ cols, rows, count, draft }).toEqual({ cols: 160, rows: 50, count: 1, draft: false });
    person.type("\x1d");
    expect(await afterwards(person, sidecar.dir)).toEqual({ code: 0, ...SANE });
    expect(await sidecar.taken()).toEqual(before);
  });

  it("shows the agent's terminal, types what the person types, and leaves by the detach key", async () => {
    await sidecar.untilState(AgentState.IDLE);
    const before = await sidecar.taken();
    await using person = await attached(sidecar);
    await person.sees("> Type a message");
    expect(person.text()).toContain("attached to test/polecats/demo · Ctrl-] detaches");
    expect(terminalState(person)).toMatchObject({ screen: "alternate", bracketedPaste: true });
    person.type("hello from a person");
    await person.sees("> hello from a person");
    person.type("\r");
    await until("the message", 30_000, async () => (await sidecar.taken()).length > before.length || undefined);
    expect(await sidecar.taken()).toEqual([...before, "hello from a person"]);
    expect((await sidecar.client.status({})).attached).toBe(1);
    person.type("\x1d");
    expect(await afterwards(person, sidecar.dir)).toEqual({ code: 0, ...SANE });
    expect(person.text()).toContain("gt: note: detached from test/polecats/demo");
    await until(
      "all clients to detach",
      30_000,
      async () => (await sidecar.client.status({})).attached === 0 || undefined,
    );
  });

  it("pastes several lines as one text, and wide characters arrive", async () => {
    await sidecar.untilState(AgentState.IDLE);
    const before = await sidecar.taken();
    await using person = await attached(sidecar);
    await person.sees("> Type a message");
    const pasted = "first line\nsecond 日本語 😀\n\x1dthird";
    person.type(`\x1b[200~${pasted}\x1b[201~`);
    await person.sees("third");
    person.type("\r");
    await until("the message", 30_000, async () => (await sidecar.taken()).length > before.length || undefined);
    expect(await sidecar.taken()).toEqual([...before, pasted.replace("\x1d", "")]);
    person.type("漢字 ok");
    await person.sees("> 漢字 ok");
  });
});

it("types the first of two detach keys when the second does not follow", async () => {
  await using sidecar = await startSidecar((dir) => ({
    agent: "generic",
    command: ["sh", "-c", `stty raw -echo; printf ready; exec cat > ${join(dir, "keys")}`],
  }));
  await using person = await attached(sidecar, { flags: "--detach-keys ctrl-p,ctrl-q" });
  await person.sees("ready");
  person.type("a\x10b\x1d\x10\x10\x11");
  expect(await afterwards(person, sidecar.dir)).toEqual({ code: 0, ...SANE });
  await expect.poll(() => readFile(join(sidecar.dir, "keys"), "latin1")).toBe("a\x10b\x1d\x10");
});

it("reports the agent's end and its exit code", async () => {
  await using sidecar = await startSidecar({
    agent: "generic",
    command: ["sh", "-c", "echo ready; read line; exit 7"],
    flags: ["--restart", "never", "--linger", "15s"],
  });
  await using person = await attached(sidecar);
  await person.sees("ready");
  person.type("go\r");
  expect(await afterwards(person, sidecar.dir)).toEqual({ code: 0, ...SANE });
  expect(person.text()).toContain("gt: note: test/polecats/demo: the agent has ended (exit code 7)");
});
