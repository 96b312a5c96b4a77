import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { captureFolder } from "../../internal/tmux/client/capture-folder.ts";
import { ForkedCommands } from "../../internal/tmux/client/forked-commands.ts";
import { TmuxCommandError, TmuxUnavailableError } from "../../internal/tmux/pane/errors.ts";
import { TmuxPane } from "../../internal/tmux/pane/pane.ts";
import { eventually } from "../support/eventually.ts";
import { tmuxSandbox } from "../support/screens/tmux-sandbox.ts";

const run = promisify(execFile);

describe("commands as one program per call", () => {
  it("do everything that a pane needs, in order", async () => {
    await using sandbox = await tmuxSandbox();
    const commands = new ForkedCommands({ tmuxProgram: "tmux", socketPath: sandbox.socketPath, env: process.env });
    const pane = await TmuxPane.find(commands, "claude", captureFolder(sandbox.dir));
    const text = `-n "x" #{pane_id} $HOME 日本; ${"long ".repeat(13_000)}end;`;
    await pane.stage("gt-1", text);
    expect(await pane.bufferExists("gt-1")).toBe(true);
    await pane.dropBuffer("gt-1");
    await pane.dropBuffer("gt-1");
    await pane.stage("gt-2", "hello; there");
    expect(await pane.paste("gt-2")).toBe("pasted");
    expect(await pane.enter()).toBe("sent");
    await eventually("the text", async () =>
      (await pane.capture({ escapes: false, join: false })).includes("hello; there"),
    );
    expect((await pane.facts()).dead).toBe(false);
  });

  it("distinguish a refusal from a missing server", async () => {
    await using sandbox = await tmuxSandbox();
    const commands = new ForkedCommands({ tmuxProgram: "tmux", socketPath: sandbox.socketPath, env: process.env });
    await expect(commands.command("send-keys -t %99 x")).rejects.toThrow(TmuxCommandError);
    await expect(commands.command("a ; b")).rejects.toThrow("replies");
    const nobody = new ForkedCommands({
      tmuxProgram: "tmux",
      socketPath: join(sandbox.dir, "no.sock"),
      env: process.env,
    });
    await expect(nobody.command("list-sessions")).rejects.toThrow(TmuxUnavailableError);
  });

  it("survive a Ctrl-C at our terminal, which reaches only our process group", async () => {
    await using sandbox = await tmuxSandbox();
    const note = join(sandbox.dir, "group");
    const tmuxProgram = join(sandbox.dir, "tmux-and-note");
    await writeFile(tmuxProgram, `#!/bin/sh\ncut -d' ' -f5 /proc/$$/stat > '${note}'\nexec tmux "$@"\n`, {
      mode: 0o755,
    });
    const commands = new ForkedCommands({ tmuxProgram, socketPath: sandbox.socketPath, env: process.env });
    expect(await commands.command("list-sessions -F '#{session_name}'")).toEqual(["claude"]);
    const ours = (await readFile("/proc/self/stat", "utf8")).split(" ")[4];
    expect(await readFile(note, "utf8")).not.toBe(`${ours}\n`);
  });

  it("do not crash a server on which sessions constantly begin and end", async () => {
    const dir = await mkdtemp(join(tmpdir(), "gt-tmux-"));
    const socketPath = join(dir, "s");
    const tmux = (...args: string[]) => run("tmux", ["-u", "-S", socketPath, "-f", "/dev/null", ...args]);
    try {
      await tmux("new-session", "-d", "-s", "kept", "cat");
      const { stdout: before } = await tmux("display-message", "-p", "#{pid}");
      const commands = new ForkedCommands({ tmuxProgram: "tmux", socketPath, env: process.env });
      const pane = await TmuxPane.find(commands, "kept", captureFolder(dir));
      const churn = async () => {
        for (let i = 0; i < 25; i++) {
          await tmux("new-session", "-d", "-s", `s${i}`, "cat");
          await tmux("kill-session", "-t", `=s${i}`);
        }
      };
      const asking = async () => {
        for (let i = 0; i < 50; i++) await pane.facts();
      };
      await Promise.all([churn(), asking(), asking()]);
      const { stdout: after } = await tmux("display-message", "-p", "#{pid}");
      expect(after).toBe(before);
    } finally {
      await tmux("kill-server").catch(() => {});
      await rm(dir, { recursive: true, force: true });
    }
  });
});
