import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FifoHolder, makeFifo, readFifo } from "../../internal/files/fifo.ts";
import { captureFolder } from "../../internal/tmux/client/capture-folder.ts";
import { TmuxPane } from "../../internal/tmux/pane/pane.ts";
import { eventually } from "../support/eventually.ts";
import { ALL, deadPane, receiver, SCREEN } from "../support/screens/receiving-pane.ts";
import { pipeTo, testDeps, tmuxSandbox, unpipe } from "../support/screens/tmux-sandbox.ts";

describe("capture", () => {
  it("returns ranges of lines, joined or not, with or without styles", async () => {
    const script = "printf '%s\\n' one 漢字漢字漢字; printf '\\033[31mred\\033[0m\\n'; seq 4 9; exec sleep 1000";
    await using box = await tmuxSandbox({ argv: ["sh", "-c", script], cols: 10, rows: 5 });
    await eventually("output", async () => (await box.pane.capture(SCREEN)).includes("9"));
    expect((await box.pane.capture(ALL)).trimEnd()).toBe("one\n漢字漢字漢\n字\nred\n4\n5\n6\n7\n8\n9");
    expect((await box.pane.capture({ ...ALL, join: true })).replaceAll(/ +$/gm, "").trimEnd()).toContain(
      "one\n漢字漢字漢字\nred",
    );
    // Ten lines and the cursor's empty one: six are above the screen of five.
    expect(await box.pane.capture({ ...SCREEN, start: -2, end: 0 })).toBe("4\n5\n6\n");
    expect(await box.pane.capture({ escapes: true, join: false, start: "-" })).toContain("\x1b[31mred");
  });

  it("leaves no buffer or file behind, even when it fails", async () => {
    await using box = await tmuxSandbox();
    await Promise.all([1, 2, 3].map(() => box.pane.capture(ALL)));
    const gone = new TmuxPane(box.client, "%99", captureFolder(box.dir));
    await expect(gone.capture(ALL)).rejects.toMatchObject({ kind: "precondition" });
    expect(await box.pane.listBuffers()).toEqual([]);
    expect((await readdir(box.dir)).sort()).toEqual(["tmux.conf", "tmux.sock"]);
  });

  it("reports a truncated file, as on a full volume, for which tmux reports success", async () => {
    await using box = await tmuxSandbox({ argv: ["sh", "-c", "echo here; exec sleep 1000"] });
    await eventually("output", async () => (await box.pane.capture(SCREEN)).startsWith("here"));
    const folder = captureFolder(box.dir);
    for (const left of [0, 3, -1]) {
      const take = async (name: string, most: number) => (await folder.take(name, most))?.slice(0, left);
      const pane = new TmuxPane(box.client, box.pane.id, { ...folder, take });
      const cut = { kind: "unavailable", message: `a capture of the pane is not whole: ${box.dir} is full` };
      await expect(pane.capture(SCREEN)).rejects.toMatchObject(cut);
      await expect(pane.cut(10)).rejects.toMatchObject(cut);
    }
    expect(await box.pane.listBuffers()).toEqual([]);
  });

  it("works with a folder whose name tmux and shells would expand", async () => {
    await using box = await tmuxSandbox({ argv: ["sh", "-c", "echo here; exec sleep 1000"] });
    const dir = join(box.dir, "it's #{pid} #(id) %d $HOME");
    await mkdir(dir);
    const pane = new TmuxPane(box.client, box.pane.id, captureFolder(dir));
    await eventually("output", async () => (await pane.capture(SCREEN)).startsWith("here"));
  });

  it("returns the screen behind the alternate one on request", async () => {
    await using box = await tmuxSandbox({
      argv: ["sh", "-c", "echo behind; printf '\\033[?1049hfront'; exec sleep 1000"],
    });
    await eventually("output", async () => (await box.pane.capture(SCREEN)).includes("front"));
    expect(await box.pane.capture(SCREEN)).not.toContain("behind");
    expect(await box.pane.capture({ ...SCREEN, savedScreen: true })).toContain("behind");
  });

  it("B1: a thousand times with 2,000 lines does not grow the server's memory", { timeout: 180_000 }, async () => {
    await using box = await tmuxSandbox({
      argv: ["sh", "-c", "seq -f 'line %g of a history that is captured' 2000; exec sleep 1000"],
    });
    await eventually("output", async () => (await box.pane.capture(SCREEN)).includes("line 2000"));
    const residentKb = async () =>
      Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${box.server.pid}/status`, "utf8"))?.[1]);
    const capture = async (times: number) => {
      for (let i = 0; i < times; i++) expect(await box.pane.capture(ALL)).toHaveLength(captured);
    };
    const captured = (await box.pane.capture(ALL)).length;
    expect(captured).toBeGreaterThan(60_000);
    await capture(50);
    const before = await residentKb();
    await capture(950);
    expect((await residentKb()) - before).toBeLessThan(4096);
  });
});

describe("respawn", () => {
  it("starts another command in the dead pane, with the last screen in the history and the window's name restored", async () => {
    await using box = await deadPane();
    const before = await box.pane.facts();
    await box.pane.respawn({
      argv: ["sh", "-c", "echo $A; pwd; exec cat"],
      env: { A: 'x "y"' },
      unsetEnv: [],
      cwd: "/",
    });
    const after = await eventually("life", async () => {
      const now = await box.pane.facts();
      return now.currentCommand === "cat" && now;
    });
    expect(after).toMatchObject({ dead: false });
    expect(after.pid).not.toBe(before.pid);
    const all = () => box.pane.capture(ALL).then((text) => text.trimEnd());
    await eventually("its words", async () => (await all()).endsWith("\n/"));
    expect(await all()).toMatch(/^last words\n+x "y"\n\/$/);
  });

  it("does not affect a running command or its screen", async () => {
    await using box = await tmuxSandbox({ argv: ["sh", "-c", "echo alive; exec cat"] });
    await eventually("output", async () => (await box.pane.capture(SCREEN)).includes("alive"));
    await eventually("cat", async () => (await box.pane.facts()).currentCommand === "cat");
    const before = await box.pane.facts();
    const again = box.pane.respawn({ argv: ["cat"], env: {}, unsetEnv: [], cwd: "/" });
    await expect(again).rejects.toMatchObject({ kind: "precondition" });
    expect(await box.pane.capture(SCREEN)).toContain("alive");
    expect(await box.pane.facts()).toEqual(before);
  });

  it("after a death on the alternate screen gives the new command the main screen; the last frame is captured before", async () => {
    await using box = await deadPane("history\\n\\033[?1049hlast frame");
    expect(await box.pane.facts()).toMatchObject({ dead: true, alternate: true });
    expect(await box.pane.capture(SCREEN)).toContain("last frame");
    await box.pane.respawn({ argv: ["sh", "-c", "echo new; exec cat"], env: {}, unsetEnv: [], cwd: "/" });
    await eventually("output", async () => (await box.pane.capture(ALL)).includes("new"));
    expect(await box.pane.facts()).toMatchObject({ dead: false, alternate: false });
  });

  it("B2: 20 times in a row with the end of a flood still in the pipe, and the server lives on", async () => {
    await using box = await tmuxSandbox({ argv: ["seq", "20000"] });
    const fifo = join(box.dir, "fifo");
    await makeFifo(fifo, process.env);
    const stop = new AbortController();
    let bytes = 0;
    const slow = async (chunk: Uint8Array) => {
      bytes += chunk.length;
      await testDeps.clock.sleep(1);
    };
    // The holder stays to the end: without it a remaining writer would wait for a reader forever.
    const done = Promise.all([readFifo(fifo, slow, stop.signal), new FifoHolder(fifo).run(stop.signal)]);
    for (let round = 0; round < 20; round++) {
      await eventually("death", async () => (await box.pane.facts()).dead);
      await box.pane.respawn({ argv: ["seq", "20000"], env: {}, unsetEnv: [], cwd: "/" });
      await pipeTo(box, fifo).catch(() => {});
    }
    await unpipe(box);
    await eventually("the last writer's end", async () => {
      const before = bytes;
      await testDeps.clock.sleep(50);
      return bytes === before;
    });
    stop.abort();
    await done;
    expect(bytes).toBeGreaterThan(0);
    expect(box.server.exit).toBeUndefined();
  });

  it("is preceded by a death that tmux announces at once by renaming the window", async () => {
    await using box = await tmuxSandbox({ argv: ["cat"] });
    const renamed = new Promise<string>((resolve) => {
      box.client.onNotification(({ name, rest }) => name === "window-renamed" && resolve(rest));
    });
    await box.pane.sendKeys(["C-d"]);
    // The signal of a death can be lost (B7): then a repeated query runs the hook.
    await eventually("death", async () => (await box.pane.facts()).dead);
    await box.pane.recoverDeadStatus();
    expect(await renamed).toMatch(/^@\d+ dead$/);
  });
});

it("a cut handles an alternate screen whose first, blank row wraps into the next", async () => {
  // The cursor stays after the last column, and there is no history.
  await using box = await receiver(`${"x".repeat(80)}\\033[?1049h`);
  const { main, text, facts } = await box.pane.cut(0);
  expect([facts.alternate, facts.historySize, main?.history, text.trimEnd()]).toEqual([true, 0, "", "ready"]);
});
