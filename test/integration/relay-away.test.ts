import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { programFile } from "../support/programs.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { until } from "../support/sidecar/sidecar.ts";

it("relay send --wait reports that NATS does not respond, and exits with 4", { timeout: 300_000 }, async () => {
  await using nats = await NatsServer.start(await oldestNats());
  await using relay = await RelayProcess.start(nats.url);
  await using coordinator = await Coordinator.connect(nats);
  const args = ["send", "--nats-url", nats.url, "--session", "away", "--role", "coding", "--wait", "hello"];
  const sending = spawn(process.execPath, [programFile("relay"), ...args], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(sending, "close");
  let stderr = "";
  sending.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  await until("the work to wait", 60_000, async () => ((await coordinator.waiting()) === 1 ? true : undefined));
  nats.signal("SIGSTOP");
  try {
    expect([(await ended)[0], stderr]).toEqual([4, expect.stringContaining("NATS does not answer")]);
  } finally {
    nats.signal("SIGCONT");
  }
  expect(stderr).not.toContain("bug");
  expect(relay.child.exitCode).toBeNull();
});
