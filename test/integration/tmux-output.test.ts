import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FifoHolder, makeFifo, readFifo } from "../../internal/files/fifo.ts";
import { eventually } from "../support/eventually.ts";
import { pipeTo, testDeps, tmuxSandbox, unpipe } from "../support/screens/tmux-sandbox.ts";

/** A FIFO in a folder of its own, held open. */
async function heldFifo() {
  const dir = await mkdtemp(join(tmpdir(), "gt-fifo-"));
  const path = join(dir, "out.fifo");
  await makeFifo(path, process.env);
  const stop = new AbortController();
  const done = new FifoHolder(path).run(stop.signal);
  const dispose = async () => {
    stop.abort();
    await done;
    await rm(dir, { recursive: true });
  };
  return { dir, path, [Symbol.asyncDispose]: dispose };
}

/** Collects the output of a FIFO until it is disposed of. */
function reading(path: string) {
  const stop = new AbortController();
  const chunks: Buffer[] = [];
  const done = readFifo(path, (chunk) => void chunks.push(Buffer.from(chunk)), stop.signal);
  const dispose = async () => {
    stop.abort();
    await done;
  };
  return { text: () => Buffer.concat(chunks).toString("latin1"), [Symbol.asyncDispose]: dispose };
}

/** The children of a process that run `cat`. */
async function catsOf(parent: number): Promise<readonly number[]> {
  const children = (await readFile(`/proc/${parent}/task/${parent}/children`, "utf8")).trim().split(" ").map(Number);
  const commands = await Promise.all(children.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return children.filter((_, i) => commands[i] === "cat\0");
}

describe("makeFifo", () => {
  it("replaces an old FIFO with one that only this user can open", async () => {
    await using fifo = await heldFifo();
    const before = await stat(fifo.path);
    expect(before.isFIFO()).toBe(true);
    expect(before.mode & 0o777).toBe(0o600);
    await makeFifo(fifo.path, process.env);
    expect((await stat(fifo.path)).ino).not.toBe(before.ino);
  });

  it("leaves another kind of file alone", async () => {
    await using fifo = await heldFifo();
    const path = join(fifo.dir, "file");
    await writeFile(path, "mine");
    await expect(makeFifo(path, process.env)).rejects.toMatchObject({ kind: "already-exists" });
  });
});

describe("readFifo", () => {
  it("stops at once when nothing comes", async () => {
    await using fifo = await heldFifo();
    const one = reading(fifo.path);
    await testDeps.clock.sleep(50);
    // Nothing will arrive: waiting for it would never end.
    await one[Symbol.asyncDispose]();
  });

  it("stops after its consumer's current call", async () => {
    await using fifo = await heldFifo();
    const stop = new AbortController();
    const busy = Promise.withResolvers<void>();
    const done = readFifo(fifo.path, () => busy.promise, stop.signal);
    const writer = await open(fifo.path, "w");
    await writer.write("x");
    await writer.close();
    stop.abort();
    busy.resolve();
    await done;
  });

  it("continues when writers open and close", async () => {
    await using fifo = await heldFifo();
    await using one = reading(fifo.path);
    for (const text of ["a", "b", "c"]) {
      await writeFile(fifo.path, text, { flag: "w" });
      await eventually(text, () => one.text().endsWith(text));
    }
    expect(one.text()).toBe("abc");
  });

  it("holds writers back while its consumer is slow, and loses nothing", async () => {
    await using fifo = await heldFifo();
    const total = 4 << 20;
    const stop = new AbortController();
    const gate = Promise.withResolvers<void>();
    let got = 0;
    const done = readFifo(
      fifo.path,
      async (chunk) => {
        await gate.promise;
        got += chunk.length;
        if (got === total) stop.abort();
      },
      stop.signal,
    );
    const writer = createWriteStream(fifo.path);
    const written = new Promise<void>((resolve) => writer.end(Buffer.alloc(total, "x"), () => resolve()));
    await testDeps.clock.sleep(100);
    expect(writer.writableFinished).toBe(false);
    gate.resolve();
    await done;
    await written;
    expect(got).toBe(total);
  });

  it("reports a FIFO that does not exist", async () => {
    const run = readFifo("/nonexistent/fifo", () => {}, new AbortController().signal);
    await expect(run).rejects.toMatchObject({ kind: "unavailable", message: expect.stringContaining("ENOENT") });
  });

  it("passes on its consumer's error", async () => {
    await using fifo = await heldFifo();
    const consumer = () => {
      throw new Error("consumer");
    };
    const run = readFifo(fifo.path, consumer, new AbortController().signal);
    const failure = expect(run).rejects.toThrow("consumer");
    await writeFile(fifo.path, "x", { flag: "w" });
    await failure;
  });

  it("can be replaced by another reader during a flood, which gets everything that the first did not take", async () => {
    await using fifo = await heldFifo();
    await using box = await tmuxSandbox({
      argv: ["sh", "-c", "read go; seq 1 200000; echo the end; exec cat"],
      cols: 40,
    });
    await pipeTo(box, fifo.path);
    const stop = new AbortController();
    let first = "";
    const done = readFifo(
      fifo.path,
      (chunk) => {
        first += Buffer.from(chunk).toString("latin1");
        if (first.length > 300_000) stop.abort();
      },
      stop.signal,
    );
    await box.pane.enter();
    await done;
    await testDeps.clock.sleep(300);
    expect((await box.pane.facts()).piped).toBe(true);
    await using second = reading(fifo.path);
    await eventually("the end", () => second.text().includes("the end"));
    const numbers = (first + second.text()).match(/^\d+(?=\r)/gm) ?? [];
    expect(numbers.length).toBeGreaterThan(199_000);
    expect(numbers.at(-1)).toBe("200000");
  });
});

describe("the pipe of a pane", () => {
  it("delivers the output through any path, and stops on request", async () => {
    await using box = await tmuxSandbox({ argv: ["cat"] });
    const dir = join(box.dir, "it's #{pid} #(id) %d $HOME");
    await mkdir(dir);
    const path = join(dir, "o ut");
    await makeFifo(path, process.env);
    await using one = reading(path);
    await pipeTo(box, path);
    await box.pane.sendText("abc");
    await eventually("output", () => one.text().includes("abc"));
    await unpipe(box);
    expect((await box.pane.facts()).piped).toBe(false);
  });

  it("continues after a respawn", async () => {
    await using fifo = await heldFifo();
    await using box = await tmuxSandbox({ argv: ["cat"] });
    await using one = reading(fifo.path);
    await pipeTo(box, fifo.path);
    await box.pane.sendKeys(["C-d"]);
    await eventually("death", async () => (await box.pane.facts()).dead);
    await box.pane.respawn({ argv: ["sh", "-c", "echo second life; exec cat"], env: {}, unsetEnv: [], cwd: "/" });
    await eventually("output", () => one.text().includes("second life"));
    expect((await box.pane.facts()).piped).toBe(true);
  });

  it("is off after the process between tmux and the FIFO was killed, and can be turned on again", async () => {
    await using fifo = await heldFifo();
    await using box = await tmuxSandbox({ argv: ["cat"] });
    await using one = reading(fifo.path);
    await pipeTo(box, fifo.path);
    const { pid } = await box.pane.facts();
    const piper = await eventually("the piping process", async () =>
      (await catsOf(box.server.pid ?? 0)).find((other) => other !== pid),
    );
    process.kill(piper, "SIGKILL");
    // tmux notices the process's end only when there is output, and that output is lost.
    await eventually("off", async () => {
      await box.pane.sendText("lost");
      return !(await box.pane.facts()).piped;
    });
    await pipeTo(box, fifo.path);
    await box.pane.sendText("found");
    await eventually("output", () => one.text().includes("found"));
  });

  it("fails on a dead pane", async () => {
    await using fifo = await heldFifo();
    await using box = await tmuxSandbox({ argv: ["true"] });
    await eventually("death", async () => (await box.pane.facts()).dead);
    await expect(pipeTo(box, fifo.path)).rejects.toMatchObject({ kind: "precondition" });
  });
});

describe("the cut", () => {
  it("between capture and stream loses and repeats nothing, 20 times during a flood", async () => {
    const flood = 'i=0; while :; do i=$((i+1)); echo "n $i"; done';
    await using box = await tmuxSandbox({ argv: ["sh", "-c", flood], cols: 40, historyLimit: 2000 });
    for (let round = 0; round < 20; round++) {
      await using fifo = await heldFifo();
      await using one = reading(fifo.path);
      const captured = await box.pane.cut(100, fifo.path);
      await eventually("the stream", () => one.text().length > 2000);
      const stream = one.text();
      // The cut may be inside a line: without blanks and line ends the numbers must still be consecutive.
      const joined = (captured.text.slice(-1000) + stream).replaceAll(/\s/g, "");
      const numbers = [...joined.matchAll(/n(\d+)(?=n)/g)].map((match) => Number(match[1]));
      expect(numbers.length).toBeGreaterThan(100);
      expect(captured.facts).toMatchObject({ dead: false, cols: 40, rows: 24 });
      expect(numbers).toEqual(numbers.map((_, i) => (numbers[0] ?? 0) + i));
    }
  });
});
