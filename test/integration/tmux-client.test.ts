import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ControlClientOptions, controlClients } from "../../internal/tmux/client/control-connection.ts";
import { TmuxServer } from "../../internal/tmux/client/server.ts";
import { CommandClient, type Notification } from "../../internal/tmux/control/command-client.ts";
import { quoteArgument } from "../../internal/tmux/pane/quote.ts";
import { eventually } from "../support/eventually.ts";
import { type TmuxSandbox, testDeps, tmuxSandbox } from "../support/screens/tmux-sandbox.ts";

const print = (text: string) => `display-message -p ${quoteArgument(text)}`;

/** A second client of the sandbox's server. */
function clientOf(box: Pick<TmuxSandbox, "socketPath">, options: Partial<ControlClientOptions> = {}) {
  const common = { tmuxProgram: "tmux", socketPath: box.socketPath, session: "claude", env: process.env };
  const client = new CommandClient(testDeps, { open: controlClients(testDeps, { ...common, ...options }) });
  const stop = new AbortController();
  const done = client.run(stop.signal);
  const dispose = async () => {
    stop.abort();
    await done;
  };
  return { client, [Symbol.asyncDispose]: dispose };
}

async function clientPids(box: TmuxSandbox): Promise<readonly number[]> {
  return (await box.client.command("list-clients -F '#{client_pid}'")).map(Number);
}

describe("replies", () => {
  it("arrive one per command of a list, also inside a conditional", async () => {
    await using box = await tmuxSandbox();
    expect(await box.client.script(`${print("a")} ; ${print("b")}`)).toEqual([
      { ok: true, lines: ["a"] },
      { ok: true, lines: ["b"] },
    ]);
    const inner = quoteArgument(`${print("x")} ; ${print("y")}`);
    expect((await box.client.script(`if-shell -F 1 ${inner}`)).map((reply) => reply.lines)).toEqual([[], ["x"], ["y"]]);
  });

  it("to an unparsable line are one error, and none of it runs", async () => {
    await using box = await tmuxSandbox();
    const replies = await box.client.script(`${print("a")} ; no-such-command ; ${print("b")}`);
    expect(replies).toEqual([{ ok: false, lines: [expect.stringContaining("unknown command: no-such-command")] }]);
  });

  it("end with the command of a list that fails", async () => {
    await using box = await tmuxSandbox();
    const replies = await box.client.script(`${print("a")} ; list-panes -t %99 ; ${print("b")}`);
    expect(replies.map((reply) => reply.ok)).toEqual([true, false]);
    expect(await box.client.command(print("next"))).toEqual(["next"]);
  });

  it("with lines that imitate the protocol stay whole, and the next ones stay in step", async () => {
    await using box = await tmuxSandbox();
    const text = "%begin 1 2 1\n%end 1 2 1\n%error 1795000000 9 1\n%output %0 x\n%exit\n";
    await box.pane.stage("gt-x", text);
    const [shown, after] = await Promise.all([
      box.client.command("show-buffer -b gt-x"),
      box.client.command(print("after")),
    ]);
    expect(shown.join("\n").trimEnd()).toBe(text.trimEnd());
    expect(after).toEqual(["after"]);
  });

  it("reach their callers among 1,000 concurrent questions, a tenth of them errors", async () => {
    await using box = await tmuxSandbox();
    const numbers = Array.from({ length: 500 }, (_, i) => i);
    const answers = await Promise.all(
      numbers.flatMap((i) => [
        box.client
          .command(i % 5 === 0 ? `list-panes -t %${i + 1000}` : print(`c${i}`))
          .catch((err: Error) => err.message),
        box.client.script(`${print(`s${i}`)} ; ${print("t")}`),
      ]),
    );
    for (const i of numbers) {
      const expected = i % 5 === 0 ? `tmux refused list-panes: can't find pane: %${i + 1000}` : [`c${i}`];
      expect(answers[2 * i]).toEqual(expected);
      expect(answers[2 * i + 1]).toEqual([
        { ok: true, lines: [`s${i}`] },
        { ok: true, lines: ["t"] },
      ]);
    }
  });

  it("for callers who gave up do not reach others", async () => {
    await using box = await tmuxSandbox();
    const giveUp = new AbortController();
    const first = box.client.command(print("first"), { signal: giveUp.signal });
    const second = box.client.script(`${print("second")} ; ${print("2")}`, { signal: giveUp.signal });
    const third = box.client.command(print("third"));
    giveUp.abort(new Error("no longer needed"));
    await expect(first).rejects.toThrow("no longer needed");
    await expect(second).rejects.toThrow("no longer needed");
    expect(await third).toEqual(["third"]);
  });

  it("over the limit are refused, and the next ones stay in step", async () => {
    await using box = await tmuxSandbox({ timeoutMs: 20_000 });
    const file = join(box.dir, "long");
    await writeFile(file, `${"x".repeat(1023)}\n`.repeat(17 * 1024));
    await box.client.command(`load-buffer -b gt-long ${quoteArgument(file)}`);
    const long = box.client.command("show-buffer -b gt-long");
    const next = box.client.command(print("next"));
    await expect(long).rejects.toMatchObject({ kind: "exhausted" });
    expect(await next).toEqual(["next"]);
  });

  it.each(["", "# comment", "A=1", "list-panes\nkill-server", `${print("a")} ; ${print("b")}`])(
    "to %j could not be matched, so the command is not sent",
    async (line) => {
      await using box = await tmuxSandbox();
      await expect(box.client.command(line)).rejects.toMatchObject({ kind: "invalid" });
      expect(await box.client.command(print("next"))).toEqual(["next"]);
    },
  );
});

describe("text as an argument", () => {
  const all = Array.from({ length: 0x17f }, (_, i) => String.fromCharCode(i + 1)).join("");
  it.each([
    ["every character up to U+017F", all],
    ["what tmux and shells expand", "$HOME ~ ~root #{pane_id} #(id) `id` $(id) %if 1 #[bold] \"…\" '…' \\ {x}"],
    ["separators and dashes", "-x ; y;"],
    ["wide and joined characters", "漢字 👨‍👩‍👧 🇩🇪 e\u0301 \u{10ffff}"],
    ["64 KiB of quotes", '"\\$'.repeat(22_000)],
  ])("survives: %s", async (_name, text) => {
    await using box = await tmuxSandbox();
    await box.pane.stage("gt-x", text);
    const file = join(box.dir, "saved");
    await box.client.command(`save-buffer -b gt-x ${quoteArgument(file)}`);
    await box.client.command(print("the command after save-buffer waits for it"));
    expect(await readFile(file, "utf8")).toBe(text);
  });
});

describe("B8", () => {
  it("writes nothing before the first block has arrived", async () => {
    const dir = await mkdtemp(join(tmpdir(), "gt-tmux-"));
    try {
      const program = join(dir, "tmux");
      // Writes early input to a file, then behaves like a control client that answers everything with "ok".
      const fake = `#!/bin/sh
exec 3<&0
timeout 1 cat <&3 > '${dir}/early'
printf '%%begin 1 1 0\\n%%end 1 1 0\\n'
n=1
while read -r line; do n=$((n+1)); printf '%%begin 1 %s 1\\nok %s\\n%%end 1 %s 1\\n' $n "$line" $n; done
`;
      await writeFile(program, fake);
      await chmod(program, 0o755);
      await using one = clientOf({ socketPath: join(dir, "none") }, { tmuxProgram: program });
      await expect(one.client.command("list-panes")).rejects.toMatchObject({ kind: "unavailable", sent: false });
      await one.client.attached(AbortSignal.timeout(60_000));
      expect(await one.client.command("list-buffers")).toEqual(["ok list-buffers"]);
      expect(await readFile(join(dir, "early"), "utf8")).toBe("");
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});

describe("an attachment", () => {
  it("begins once the server exists, however late", async () => {
    const dir = await mkdtemp(join(tmpdir(), "gt-tmux-"));
    const paths = { socketPath: join(dir, "tmux.sock"), configPath: join(dir, "tmux.conf") };
    await writeFile(paths.configPath, "new-session -d -s claude\n");
    const server = new TmuxServer(testDeps, { tmuxProgram: "tmux", env: process.env, ...paths });
    const stop = new AbortController();
    let done = Promise.resolve();
    try {
      await using one = clientOf(paths);
      await eventually("refused attaches", () => one.client.failures >= 2);
      done = server.run(stop.signal);
      await one.client.attached(AbortSignal.timeout(60_000));
      expect(await one.client.command(print("here"))).toEqual(["here"]);
      expect(one.client.failures).toBe(0);
    } finally {
      stop.abort();
      await done;
      await rm(dir, { recursive: true, force: true });
    }
  });

  it("ends with the session, and never moves to one with a longer name", async () => {
    await using box = await tmuxSandbox();
    await box.client.command("new-session -d -s claude-2");
    const exits: Notification[] = [];
    box.client.onNotification((notification) => notification.name === "exit" && exits.push(notification));
    await box.client.command("kill-session -t =claude").catch(() => {});
    await eventually("refused attaches", () => box.client.failures > 3);
    expect(exits[0]).toEqual({ name: "exit", rest: "" });
    expect(box.client.isAttached).toBe(false);
  });

  it("is restored after the client was killed, whose pending commands may have run", async () => {
    await using box = await tmuxSandbox();
    const [pid = 0] = await clientPids(box);
    process.kill(box.server.pid ?? 0, "SIGSTOP");
    const asked = box.client.command(print("asked"));
    const startMs = performance.now();
    process.kill(pid, "SIGKILL");
    await expect(asked).rejects.toMatchObject({ kind: "unavailable", sent: true });
    // The stopped server holds the pipes open: the end must not wait for it.
    expect(performance.now() - startMs).toBeLessThan(5000);
    process.kill(box.server.pid ?? 0, "SIGCONT");
    await box.client.attached(AbortSignal.timeout(60_000));
    expect(await box.client.command(print("again"))).toEqual(["again"]);
    await eventually("one client", async () => (await clientPids(box)).length === 1);
  });

  it("is dropped while the server does not respond, and restored when it does", async () => {
    await using box = await tmuxSandbox({ timeoutMs: 2000 });
    process.kill(box.server.pid ?? 0, "SIGSTOP");
    const startMs = performance.now();
    const asked = [1, 2, 3].map((i) => box.client.command(print(String(i))));
    for (const answer of asked) {
      await expect(answer).rejects.toMatchObject({
        kind: "unavailable",
        sent: true,
        message: expect.stringContaining("2000 ms"),
      });
    }
    expect(performance.now() - startMs).toBeLessThan(5500);
    await expect(box.client.command(print("not attached"))).rejects.toMatchObject({ kind: "unavailable", sent: false });
    await eventually("a second failure", () => box.client.failures >= 2);
    process.kill(box.server.pid ?? 0, "SIGCONT");
    await box.client.attached(AbortSignal.timeout(60_000));
    expect(await box.client.command(print("again"))).toEqual(["again"]);
    expect(box.client.failures).toBe(0);
  });

  it("is kept if this process was blocked while the answer arrived", async () => {
    await using box = await tmuxSandbox({ timeoutMs: 1000 });
    const pids = await clientPids(box);
    const asked = box.client.command(print("asked"));
    const untilMs = performance.now() + 2500;
    while (performance.now() < untilMs);
    expect(await asked).toEqual(["asked"]);
    expect(await clientPids(box)).toEqual(pids);
  });

  it("gets no output and does not affect the window's size, from its start", async () => {
    await using box = await tmuxSandbox();
    const [flags] = await box.client.command("list-clients -F '#{client_flags}'");
    expect(flags?.split(",")).toEqual(expect.arrayContaining(["control-mode", "ignore-size", "no-output"]));
  });

  it("leaves the session's environment alone", async () => {
    await using box = await tmuxSandbox();
    await box.client.command("set-option -g update-environment GT_TEST_MARK");
    await using one = clientOf(box, { env: { ...process.env, GT_TEST_MARK: "from a client" } });
    await one.client.attached(AbortSignal.timeout(60_000));
    expect((await box.client.command("show-environment -t =claude")).join("\n")).not.toContain("GT_TEST_MARK");
  });

  it.each(["kill-server", "detach-client -a ; detach-client"])(
    "ends with an exit without a reason on %s",
    async (line) => {
      await using box = await tmuxSandbox();
      const exits: string[] = [];
      box.client.onNotification(({ name, rest }) => name === "exit" && exits.push(rest));
      await box.client.script(line).catch(() => {});
      await eventually("the exit", () => exits.length > 0);
      expect(exits).toEqual([""]);
    },
  );

  it("survives a long time without commands", async () => {
    await using box = await tmuxSandbox({ timeoutMs: 1000 });
    const pids = await clientPids(box);
    await testDeps.clock.sleep(3000);
    expect(await clientPids(box)).toEqual(pids);
  });

  it("ends with the reason when the server was killed", async () => {
    await using box = await tmuxSandbox();
    const exits: Notification[] = [];
    box.client.onNotification((notification) => notification.name === "exit" && exits.push(notification));
    process.kill(box.server.pid ?? 0, "SIGKILL");
    await box.serverDone;
    await eventually("detachment", () => !box.client.isAttached);
    expect(exits).toEqual([{ name: "exit", rest: "server exited unexpectedly" }]);
    await expect(box.client.command(print("x"))).rejects.toMatchObject({ kind: "unavailable", sent: false });
  });

  it("can be stopped while the server hangs", async () => {
    await using box = await tmuxSandbox();
    const one = clientOf(box);
    await one.client.attached(AbortSignal.timeout(60_000));
    process.kill(box.server.pid ?? 0, "SIGSTOP");
    // The server stays stopped until this has ended.
    await one[Symbol.asyncDispose]();
    process.kill(box.server.pid ?? 0, "SIGCONT");
  });

  it("answers commands while the agent floods the pane", async () => {
    await using box = await tmuxSandbox({ argv: ["sh", "-c", "yes 'a line of output that goes on and on'"] });
    const seen: string[] = [];
    box.client.onNotification((notification) => seen.push(notification.name));
    for (let i = 0; i < 100; i++) expect(await box.client.command(print(String(i)))).toEqual([String(i)]);
    expect(seen).not.toContain("output");
  });
});
