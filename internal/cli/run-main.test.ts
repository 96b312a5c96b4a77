import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { aborted } from "../base/abort.ts";
import { DomainError } from "../base/errors.ts";
import { exitCodeOfStop, type Host, type Main, type RunMainOptions, runMain, StoppedBySignal } from "./run-main.ts";

class FakeHost extends EventEmitter {
  readonly argv = ["node", "prog", "one", "two"];
  readonly env = {};
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly codes: number[] = [];
  mask = 0o022;

  umask(mask: number): number {
    const before = this.mask;
    this.mask = mask;
    return before;
  }

  exit(code: number): void {
    this.codes.push(code);
  }

  errors(): string {
    return String(this.stderr.read() ?? "");
  }
}

function start(main: Main, options: Partial<RunMainOptions> = {}) {
  const host = new FakeHost();
  const done = runMain({ name: "prog", ...options }, main, host as unknown as Host);
  return { host, done };
}

async function run(main: Main, options: Partial<RunMainOptions> = {}) {
  const { host, done } = start(main, options);
  await done;
  return { codes: host.codes, stderr: host.errors(), stdout: String(host.stdout.read() ?? ""), host };
}

it("exits with what main returns, after stdout is written", async () => {
  const { codes, stdout } = await run(async ({ argv, stdout }) => {
    stdout.write(argv.join(" "));
    return 5;
  });
  expect(codes).toEqual([5]);
  expect(stdout).toBe("one two");
});

it.each([
  { given: 0o777, kept: 0o077 },
  { given: 0o277, kept: 0o077 },
  { given: 0o022, kept: 0o022 },
  { given: 0, kept: 0 },
])("keeps of the umask $given only the bits for others than the owner", async ({ given, kept }) => {
  const host = new FakeHost();
  host.mask = given;
  await runMain({ name: "prog" }, async () => host.mask, host as unknown as Host);
  expect(host.codes).toEqual([kept]);
});

it("prints a domain error as one line with its hint, and maps its exit code", async () => {
  const main: Main = () => {
    throw new DomainError("not-found", 'no agent "x"\x1b[2J\nsecond', { fields: { hint: "gt agents lists them" } });
  };
  const { codes, stderr } = await run(main, { exitCodes: { "not-found": 3 } });
  expect(codes).toEqual([3]);
  expect(stderr).toBe('prog: error: no agent "x" second\nprog: hint: gt agents lists them\n');
});

it("prints every fault of a domain error before it, one per line", async () => {
  const main: Main = () => {
    throw new DomainError("invalid", "it has 2 faults", { lines: ["a.yaml:1: x: bad\x1b[2J", "a.yaml:2: y: bad"] });
  };
  const { codes, stderr } = await run(main);
  expect(codes).toEqual([2]);
  expect(stderr).toBe("a.yaml:1: x: bad\na.yaml:2: y: bad\nprog: error: it has 2 faults\n");
});

it("exits with 2 for invalid input by default", async () => {
  const main: Main = () => {
    throw new DomainError("invalid", "unknown flag --x");
  };
  expect((await run(main)).codes).toEqual([2]);
});

it("shows a bug with its stack and exits with 1", async () => {
  const { codes, stderr } = await run(() => {
    throw new TypeError("boom");
  });
  expect(codes).toEqual([1]);
  expect(stderr).toMatch(/^prog: bug: .*\nTypeError: boom\n +at /);
});

it("reports that the current folder was removed, and does not call that a bug", async () => {
  const { codes, stderr } = await run(() => {
    throw Object.assign(new Error("ENOENT: process.cwd failed"), { code: "ENOENT", syscall: "uv_cwd" });
  });
  expect(codes).toEqual([2]);
  expect(stderr).toBe("prog: error: the current folder has been removed\nprog: hint: cd to another, e.g. cd ~\n");
});

it("aborts the signal on SIGTERM, and exits with the shell's code for it when main rejects", async () => {
  const { host, done } = start(async ({ signal }) => {
    await aborted(signal);
    throw signal.reason;
  });
  host.emit("SIGTERM", "SIGTERM");
  await done;
  expect(host.codes).toEqual([143]);
  expect(host.errors()).toBe("");
});

it("lets main finish after the first SIGINT and exits at once on the second", async () => {
  const { host } = start(() => new Promise(() => {}));
  host.emit("SIGINT", "SIGINT");
  expect(host.codes).toEqual([]);
  host.emit("SIGINT", "SIGINT");
  expect(host.codes).toEqual([130]);
});

it("exits without an error when the reader of stdout closes it", async () => {
  const { host, done } = start(async ({ signal }) => {
    await aborted(signal);
    throw new Error("a write that failed");
  });
  host.stdout.emit("error", Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
  await done;
  expect(host.codes).toEqual([141]);
  expect(host.errors()).toBe("");
});

it("exits with 1 when its output cannot be written, and does not call that a bug", async () => {
  const { host, done } = start(({ signal }) => aborted(signal).then(() => 0));
  host.stdout.emit("error", Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" }));
  host.stdout.emit("error", Object.assign(new Error("ENOSPC: again"), { code: "ENOSPC" }));
  expect(host.codes).toEqual([]);
  await done;
  expect(host.codes).toEqual([1]);
  expect(host.errors()).toBe("prog: error: cannot write to stdout: ENOSPC: no space left on device, write\n");
});

it("ends everything that it started, in order, when its output fails", async () => {
  let isEnded = false;
  const { host, done } = start(async ({ signal }) => {
    await aborted(signal);
    await new Promise((resolve) => setImmediate(resolve));
    isEnded = true;
    throw signal.reason;
  });
  host.stdout.emit("error", Object.assign(new Error("EIO: i/o error, write"), { code: "EIO" }));
  host.stderr.emit("error", new Error("EIO: i/o error, write"));
  await done;
  expect([isEnded, host.codes]).toEqual([true, [1]]);
});

it("treats an uncaught error as a bug", async () => {
  const { host } = start(() => new Promise(() => {}));
  host.emit("uncaughtException", new Error("lost"));
  expect(host.codes).toEqual([1]);
  expect(host.errors()).toContain("lost");
});

it("listens to no signal after main has ended", async () => {
  const { host } = await run(async () => 0);
  expect(host.listenerCount("SIGINT") + host.listenerCount("SIGTERM") + host.listenerCount("SIGHUP")).toBe(0);
});

it("exits with 129 after SIGHUP", () => {
  expect(exitCodeOfStop(new StoppedBySignal("SIGHUP"))).toBe(129);
});
