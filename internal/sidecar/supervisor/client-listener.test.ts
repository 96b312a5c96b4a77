import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { ClientListener } from "./client-listener.ts";

/** Stands for a control client of a tmux server that hangs: it stays when it is asked to leave. */
const STAYS = "#!/bin/sh\ntrap '' TERM\necho attached\nwhile :; do sleep 0.05; done\n";

it("ends although the serving half connects again while the client is asked to leave", async () => {
  const dir = mkdtempSync(join(tmpdir(), "gt-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const tmuxProgram = join(dir, "tmux");
  writeFileSync(tmuxProgram, STAYS);
  chmodSync(tmuxProgram, 0o755);
  const path = join(dir, "clients.sock");
  const clock = new FakeClock();
  const client = { tmuxProgram, socketPath: join(dir, "tmux.sock"), session: "agent", env: { PATH: "/usr/bin:/bin" } };
  const listener = new ClientListener({ clock, logger: silentLogger, hasSession: async () => true }, path, client);
  const stop = new AbortController();
  const ended = listener.run(stop.signal);

  const first = await eventually("a connection", () => connected(path));
  const output = await new Promise((resolve) => first.once("data", (data) => resolve(String(data))));
  expect(output).toBe("attached\n");
  stop.abort();
  await eventually("the client to be asked to leave", () => clock.sleeping > 0);
  await connected(path);
  await clock.advance(1000);
  await ended;
});

/** Connects to a socket until the end of the test; undefined if the connection is refused. */
function connected(path: string) {
  const socket = connect(path);
  onTestFinished(() => void socket.destroy());
  return new Promise<typeof socket | undefined>((resolve) => {
    socket.once("connect", () => resolve(socket)).once("error", () => resolve(undefined));
  });
}
