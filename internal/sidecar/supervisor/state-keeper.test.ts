import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { inTime } from "../../../test/support/in-time.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { aborted } from "../../base/abort.ts";
import { isOfKind, type StatePaths, stateEntriesOf, statePaths } from "../halves/state-dir.ts";
import { StateKeeper } from "./state-keeper.ts";

let root: string;
let paths: StatePaths;
let clock: FakeClock;
let stop: AbortController;
let restored: number;
let listens: number;
/** The parts reported missing; undefined: the report that the folder cannot be created. */
let reported: (string | undefined)[];
/** Makes the sockets that a supervising half listens on, tmux's included. */
let listen: (signal: AbortSignal) => Promise<void>;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "gt-state-"));
  paths = statePaths(join(root, "run", "state"));
  clock = new FakeClock();
  stop = new AbortController();
  [restored, listens, reported] = [0, 0, []];
  listen = listenOn;
});
afterEach(() => {
  stop.abort();
  rmSync(root, { recursive: true, force: true });
});

async function listenOn(signal: AbortSignal): Promise<void> {
  listens++;
  const servers = await Promise.all([paths.control, paths.clients, paths.tmuxSocket].map(serverAt));
  await aborted(signal);
  for (const server of servers) server.close();
}

async function serverAt(path: string): Promise<Server> {
  rmSync(path, { force: true });
  const server = createServer();
  await new Promise<void>((listening) => server.listen(path, listening));
  return server;
}

function keeper(): StateKeeper {
  const error = ({ missing }: { missing?: string }) => void reported.push(missing);
  return new StateKeeper(
    {
      clock,
      logger: { ...silentLogger, error },
      uid: process.getuid?.() ?? 0,
      listener: () => ({ run: (signal) => listen(signal) }),
      restored: () => void restored++,
    },
    { paths, files: { [paths.tmuxConfig]: "set -g status off\n" }, env: { PATH: "/usr/bin:/bin" } },
  );
}

/** Its folder is whole, and it looks. */
async function running(): Promise<{ readonly ended: Promise<void> }> {
  const kept = keeper();
  await kept.make();
  const ended = kept.run(stop.signal);
  ended.catch(() => {});
  await soon(isWhole);
  return { ended };
}

function isWhole(): void {
  for (const [path, kind] of stateEntriesOf(paths)) expect(isOfKind(path, kind), path).toBe(true);
  expect(clock.sleeping).toBe(1);
}

const soon = (look: () => void) => vi.waitFor(look, { timeout: 5000, interval: 2 });

/** Two looks: a part that is missing at one look alone is just being made. */
async function notice(): Promise<void> {
  await clock.advance(2000);
}

describe("the keeper of the state folder", () => {
  it("does not change a complete folder", async () => {
    const { ended } = await running();
    const before = lstatSync(paths.hookFifo).ino;
    await clock.advance(60_000);
    expect([restored, listens, reported, lstatSync(paths.hookFifo).ino]).toEqual([0, 1, [], before]);
    stop.abort();
    await ended;
    expect(clock.sleeping).toBe(0);
  });

  it("creates a removed folder again with all its parts, listens again, and reports it once", async () => {
    await running();
    rmSync(paths.dir, { recursive: true });
    await notice();
    await soon(isWhole);
    expect(readFileSync(paths.tmuxConfig, "utf8")).toBe("set -g status off\n");
    expect([restored, listens, reported]).toEqual([1, 2, [paths.dir]]);
    await clock.advance(60_000);
    expect([restored, listens]).toEqual([1, 2]);
  });

  it.each([
    ["a link in place of the folder of payloads", () => paths.hookDir, (path: string) => symlinkSync(root, path)],
    ["a file in place of the FIFO of hooks", () => paths.hookFifo, (path: string) => writeFileSync(path, "")],
    ["a folder in place of a socket", () => paths.control, (path: string) => mkdirSync(path)],
    ["a missing configuration", () => paths.tmuxConfig, () => {}],
  ])("replaces %s", async (_, place, put) => {
    await running();
    rmSync(place(), { recursive: true });
    put(place());
    await notice();
    await soon(isWhole);
    expect([restored, reported]).toEqual([1, [place()]]);
  });

  it("gives locked parts their owner's permissions back at the next look, and follows no link", async () => {
    await running();
    const target = join(root, "target");
    writeFileSync(target, "", { mode: 0o400 });
    symlinkSync(target, paths.lock);
    const locked = [...stateEntriesOf(paths).keys(), paths.dir];
    for (const path of locked) chmodSync(path, 0);
    await clock.advance(1000);
    const modeOf = (path: string) => lstatSync(path).mode & 0o777;
    for (const path of locked) expect(modeOf(path), path).toBe(lstatSync(path).isDirectory() ? 0o700 : 0o600);
    expect(modeOf(target)).toBe(0o400);
    expect([restored, reported]).toEqual([0, []]);
  });

  it("waits for a second look, because tmux's socket is missing while a lost server is replaced", async () => {
    await running();
    rmSync(paths.tmuxSocket);
    await clock.advance(1000);
    const again = await serverAt(paths.tmuxSocket);
    await clock.advance(10_000);
    expect([restored, listens]).toEqual([0, 1]);
    again.close();
  });

  it("tries again every second while the folder cannot be created, and keeps the sidecar running", async () => {
    const { ended } = await running();
    rmSync(dirname(paths.dir), { recursive: true });
    writeFileSync(dirname(paths.dir), "");
    await inTime(clock, 500, () => expect(reported).toEqual([paths.dir, undefined, undefined]));
    expect([restored, existsSync(paths.dir)]).toEqual([0, false]);
    rmSync(dirname(paths.dir));
    await inTime(clock, 500, isWhole);
    expect([restored, listens]).toEqual([1, 2]);
    stop.abort();
    await ended;
  });

  it("stops while the folder cannot be created", async () => {
    const { ended } = await running();
    rmSync(dirname(paths.dir), { recursive: true });
    writeFileSync(dirname(paths.dir), "");
    await inTime(clock, 500, () => expect(reported).toEqual([paths.dir, undefined]));
    stop.abort();
    await ended;
    expect([restored, listens, clock.sleeping]).toEqual([0, 1, 0]);
  });

  it("creates a folder again that is removed while its sockets are being created", async () => {
    listen = () => {
      listen = listenOn;
      rmSync(paths.dir, { recursive: true });
      return Promise.reject(new Error("cannot listen"));
    };
    const kept = keeper();
    await kept.make();
    const ended = kept.run(stop.signal);
    await inTime(clock, 500, isWhole);
    expect([restored, reported]).toEqual([1, [paths.dir]]);
    stop.abort();
    await ended;
  });

  it("ends with the failure of a listener in a complete folder, which a new folder cannot fix", async () => {
    listen = () => Promise.reject(new Error("cannot listen"));
    const kept = keeper();
    await kept.make();
    await expect(kept.run(stop.signal)).rejects.toThrow("cannot listen");
    expect([restored, clock.sleeping]).toEqual([0, 0]);
  });
});
