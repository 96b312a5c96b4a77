import { expect, it } from "vitest";
import { Containers, HARDENED } from "../support/cluster/containers.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const LIMIT_MS = 600_000;
const PROBE = `for p in bridge-ca relay node; do command -v $p; done; head -n 1 /opt/gt/THIRD-PARTY-NOTICES
for p in sshd ssh gcc cc g++ make ld python3; do command -v $p; done; touch /probe 2>&1; id -u`;

it(
  "the relay's image runs a turn and stops gracefully as an unknown user without rights on a read-only root",
  async (context) => {
    const containers = await Containers.here(context);
    const image = await containers.buildRelay();
    await using nats = await NatsServer.start(await oldestNats());
    const args = ["serve", "--nats-url", nats.url, "--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
    await using container = containers.run(image, { options: HARDENED, args });
    const serving = () => /"listen":"([^"]+)".*"action":"serving"/.exec(container.log())?.[1];
    const url = `ws://${await until("the relay to serve", 120_000, serving, container.log)}`;
    using agent = await SeedAgent.dial(url, { session: "sess_123" });
    agent.answer = () => textResult("done in there");
    await using coordinator = await Coordinator.connect(nats);
    await coordinator.work("sess_123", { id: "msg_1", type: "work.coding", payload: { task: "Do it" } });
    const [result] = await coordinator.results("sess_123", 1);
    expect(result?.body).toMatchObject({ type: "result.success", payload: { text: "done in there" } });
    container.signal("SIGTERM");
    expect(await container.exited).toBe(0);
    expect((await agent.end()).code).toBe(1001);
  },
  LIMIT_MS,
);

it(
  "the relay's image contains its programs and licences, and no shell server or compiler",
  async (context) => {
    const containers = await Containers.here(context);
    const image = await containers.buildRelay();
    const { text } = await containers.output(image, [...HARDENED, "--entrypoint", "sh"], "-c", PROBE);
    expect(text.trim().split("\n")).toEqual([
      ...["/usr/local/bin/bridge-ca", "/usr/local/bin/relay", "/usr/local/bin/node"],
      ...[
        expect.stringMatching(/^Licences of the packages/),
        expect.stringContaining("Read-only file system"),
        "54321",
      ],
    ]);
    const help = await containers.output(image, HARDENED, "--help");
    expect(help).toMatchObject({ code: 0, text: expect.stringContaining("relay") });
  },
  LIMIT_MS,
);
