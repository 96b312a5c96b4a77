// Serves events of 1 KiB in two ways: BridgeService over a scripted agent, and grpc-js with the plain .proto, which
// writes each event to each subscriber. Prints a line of JSON with the readers' parameters. Commands on stdin: `ours N
// MS` and `theirs N MS` emit N events; `said` and `token` print a line.
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { runMain } from "../../internal/cli/run-main.ts";
import type { ScriptedAgent } from "../../test/fakes/scripted-provider.ts";
import { startBridgeRoom } from "../../test/support/bridge/bridge-room.ts";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { grpcEvents } from "./grpc-events.ts";

const TEXT = "x".repeat(900);

await runMain({ name: "events-server" }, async ({ stdin, stdout, signal }) => {
  await using room = await startBridgeRoom();
  const request = { projectId: room.prd.name, sessionId: "bench", repoPath: room.repo, provider: "scripted" };
  await room.client(room.prd).startSession(request);
  const agent = room.provider.agents[0] as ScriptedAgent;
  const ca = new TestCa("peer");
  const peer = await grpcEvents({ ...ca.issue({ ips: ["127.0.0.1"] }), ca: ca.pem });
  const ours = { port: room.port, tls: room.nodeOptions(room.prd) };
  const theirs = { port: peer.port, tls: { ...ca.issue({}), ca: ca.pem } };
  stdout.write(`${JSON.stringify({ ours, theirs })}\n`);
  let said = 0;
  createInterface({ input: stdin }).on("line", async (line) => {
    const [way, count, everyMs] = line.split(" ");
    if (way === "token") return stdout.write(`${room.prd.token()}\n`);
    if (way === "said") return stdout.write(`${said}\n`);
    for (let i = 0; i < Number(count); i++) {
      if (way === "theirs") peer.write(TEXT);
      else agent.say({ type: "dialog-opened", dialog: dialog(said++) });
      await sleep(Number(everyMs));
    }
    return stdout.write("done\n");
  });
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  peer.close();
  return 0;
});

/** A dialog becomes an event at once; text of output is gathered first. */
function dialog(n: number) {
  return { id: `d${n}`, kind: "other", title: "bench", text: TEXT, choices: [], since: Date.now() } as const;
}
