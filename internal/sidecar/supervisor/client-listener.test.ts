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

/** A listener whose tmux is this script, on a clock of its own. */
function newListener(tmux: string, hasSession: () => Promise<boolean>) {
  const dir = mkdtempSync(join(tmpdir(), "gt-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const tmuxProgram = join(dir, "tmux");
  writeFileSync(tmuxProgram, tmux);
  chmodSync(tmuxProgram, 0o755);
  const path = join(dir, "clients.sock");
  const clock = new FakeClock();
  const client = { tmuxProgram, socketPath: join(dir, "tmux.sock"), session: "agent", env: { PATH: "/usr/bin:/bin" } };
  return { listener: new ClientListener({ clock, logger: silentLogger, hasSession }, path, client), path, clock };
}

it("ends although the serving half connects again while the client is asked to leave", async () => {
  const { listener, path, clock } = newListener(STAYS, async () => true);
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

it("asks ever less often for a session that does not come, and tries a client each second", async () => {
  let asked = 0;
  const { listener, path, clock } = newListener("#!/bin/sh\nexit 1\n", async () => {
    asked++;
    return false;
  });
  const stop = new AbortController();
  const ended = listener.run(stop.signal);

  for (let second = 0; second < 4; second++) {
    const before = asked;
    const stream = await eventually("a connection", () => connected(path));
    const closed = new Promise((resolve) => stream.once("close", resolve).resume());
    await eventually("the first question", () => clock.advance(10).then(() => asked > before));
    await clock.advance(1300); // the last question comes up to 250 ms after the second
    await closed;
  }
  expect(asked).toBeLessThan(100); // at 10 ms these would be 400
  stop.abort();
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
