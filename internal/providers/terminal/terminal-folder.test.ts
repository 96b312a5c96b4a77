import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { TerminalFolder } from "./terminal-folder.ts";

let dir: string;
let folder: TerminalFolder;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "terminal-"));
  folder = TerminalFolder.of(dir, { project: "p", sessionId: "s" });
  mkdirSync(folder.stateDir, { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Serves the socket of the agent's terminal server until it is disposed of. */
async function serve(onConnection: (socket: Socket) => void): Promise<AsyncDisposable> {
  const server = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(join(folder.stateDir, "tmux.sock"), resolve));
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

describe("the agent's terminal server", () => {
  it("does not run if its socket is not there, or nothing listens on it", async () => {
    expect(await folder.hasServer(new FakeClock())).toBe(false);
  });

  it("does not run if it closes a connection that it accepted, as the socket of a killed one does", async () => {
    await using _server = await serve((socket) => socket.destroy());
    expect(await folder.hasServer(new FakeClock())).toBe(false);
  });

  it("runs if it keeps a connection open", async () => {
    const clock = new FakeClock();
    const { promise: connected, resolve } = Promise.withResolvers<void>();
    await using _server = await serve(() => resolve());
    const answer = folder.hasServer(clock);
    await connected;
    await clock.advance(500);
    expect(await answer).toBe(true);
  });
});
