import { chmodSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { seeded } from "../../bench/stats.ts";
import { BridgeService, EventType, SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { createClient as createSdkClient } from "../../pkg/bridgeclient/index.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { freePort } from "../support/bridge/free-port.ts";
import { ReceivedLines } from "../support/bridge/received-lines.ts";
import { CuttingProxy } from "../support/sidecar/cutting-proxy.ts";
import { until } from "../support/sidecar/sidecar.ts";

const CUTS = Number(process.env["GT_BRIDGE_CUTS"] ?? 12);
const SEED = Number(process.env["GT_BRIDGE_SEED"] ?? Math.floor(Math.random() * 1e6));

/** Prints numbered lines in bursts, with pauses in which the screen becomes still. */
const PRINTER = `#!${process.execPath}
if (process.argv.includes("--version")) {
  console.log("printer 1.0");
  process.exit(0);
}
let n = 0;
const print = () => {
  for (let i = 1 + Math.floor(Math.random() * 30); i > 0; i--) process.stdout.write("line " + ++n + " of the printer\\n");
  setTimeout(print, Math.random() * 200);
};
print();
`;
/** The errors that a subscriber may get while the bridge, the network or the client itself is away. */
const PASSES: ReadonlySet<Code> = new Set([Code.Unavailable, Code.Canceled, Code.Aborted, Code.DeadlineExceeded]);

const sessionId = "cuts";
/** The number of events that a session keeps. */
const HELD = 100n;

/** A bridge that is restarted on the same port, behind a network that can be cut. */
class CutBridge implements AsyncDisposable {
  readonly #folder: BridgeFolder;
  readonly #config: string;
  readonly proxy: CuttingProxy;
  bridge: RunningBridge;
  kills = 0;

  private constructor(folder: BridgeFolder, config: string, proxy: CuttingProxy, bridge: RunningBridge) {
    this.#folder = folder;
    this.#config = config;
    this.proxy = proxy;
    this.bridge = bridge;
  }

  static async start(folder: BridgeFolder): Promise<CutBridge> {
    const printer = folder.path("printer.js");
    writeFileSync(printer, PRINTER);
    chmodSync(printer, 0o755);
    const port = await freePort();
    const config = await folder.configure({
      server: { listen: `127.0.0.1:${port}`, health_listen: "127.0.0.1:0", state_dir: "state" },
      sessions: { event_buffer_size: Number(HELD), stop_grace_period: "3s" },
      providers: { demo: { binary: printer } },
    });
    const proxy = await CuttingProxy.to(port);
    return new CutBridge(folder, config, proxy, await folder.start(config));
  }

  get url(): string {
    return `https://127.0.0.1:${this.proxy.port}`;
  }

  /** Kills the bridge; the next one finds its state. */
  async kill(): Promise<void> {
    this.kills++;
    this.bridge.process.kill("SIGKILL");
    await this.bridge.exited;
    this.bridge = await this.#folder.start(this.#config);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.proxy[Symbol.asyncDispose]();
  }
}

it(
  `${CUTS} random cuts of client, network and daemon: a terminal's events stay in order, and each loss is reported`,
  async ({ onTestFailed }) => {
    onTestFailed(
      () => void process.stderr.write(`the same cuts again: GT_BRIDGE_CUTS=${CUTS} GT_BRIDGE_SEED=${SEED}\n`),
    );
    const [random, ofAcks] = [seeded(SEED), seeded(SEED + 1)];
    await using folder = await BridgeFolder.create();
    await using cut = await CutBridge.start(folder);
    const { prd } = folder;
    const direct = () => folder.client(cut.bridge, prd);
    const [projectId, repoPath] = [prd.name, folder.path("repos/one")];
    await direct().startSession({ projectId, sessionId, repoPath, provider: "demo", agentOpts: { mode: "terminal" } });

    const raw = new ReceivedLines("raw");
    const sdk = new ReceivedLines("SDK");
    const late = new ReceivedLines("late");
    let connection = connect();
    function connect() {
      const { cert, key } = prd.tls;
      return sidecarTransport({
        ...{ baseUrl: cut.url, tls: { ca: folder.ca.pem, cert, key }, pingIntervalMs: 500, pingTimeoutMs: 500 },
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", `Bearer ${folder.token(prd)}`);
            return next(request);
          },
        ],
      });
    }
    /** Like any gRPC client: the bridge stores the position that it has acknowledged. */
    const readRaw = async () => {
      while (!raw.isDone) {
        const client = createClient(BridgeService, connection.transport);
        try {
          for await (const event of client.streamEvents({ sessionId, subscriberId: "raw" })) {
            raw.take(event);
            const { seq: ackSeq, epoch } = event;
            if (ofAcks() < 0.2)
              void client.ackEvents({ sessionId, subscriberId: "raw", ackSeq, epoch }).catch(() => {});
          }
        } catch (err) {
          const { code, rawMessage } = ConnectError.from(err);
          // A connection that is cut right after the handshake looks like one that the server refuses.
          const passes =
            PASSES.has(code) || rawMessage.startsWith("the server closed the connection after the handshake");
          if (!passes) raw.faults.push(`${Code[code]}: ${rawMessage}`);
          await sleep(20);
        }
      }
    };
    const dir = await folder.consumerFolder(prd);
    await using client = createSdkClient({
      target: `127.0.0.1:${cut.proxy.port}`,
      mtls: { caCertPath: `${dir}/ca.crt`, certPath: `${dir}/tls.crt`, keyPath: `${dir}/tls.key` },
      jwt: {
        ...{ privateKeyPath: `${dir}/jwt-signing.key`, issuer: prd.name, audience: "bridge" },
        ...{ subject: "sdk", projectId },
      },
    });
    const readSdk = async () => {
      for await (const event of client.session(sessionId).events({ subscriberId: "sdk" })) sdk.take(event);
    };
    /** Reads a few events, and stays away until the next ones are no longer kept. */
    let overflows = 0;
    const readLate = async () => {
      while (!late.isDone) {
        let left = 20;
        for await (const event of client.session(sessionId).events({ subscriberId: "late" })) {
          late.take(event);
          if (--left === 0 && !stopping) break;
        }
        const from = late.last;
        while (!stopping && sdk.last <= from + HELD) await sleep(100);
        if (sdk.last > from + HELD + 1n) overflows++;
      }
    };
    let stopping = false;
    const cuts = async () => {
      for (let cuts = 0; cuts < CUTS; cuts++) {
        await sleep(random() * 300);
        const before = [raw.events, sdk.events];
        const which = random();
        if (which < 0.3) {
          connection[Symbol.dispose]();
          connection = connect();
        } else if (which < 0.8) cut.proxy.cut(which < 0.55 ? "near" : "far");
        else await cut.kill();
        await until(
          "events after a cut",
          60_000,
          () => (raw.events > (before[0] ?? 0) && sdk.events > (before[1] ?? 0)) || undefined,
        );
      }
      if (cut.kills === 0) await cut.kill();
      stopping = true;
      await until("the session", 30_000, async () =>
        (await direct().getSession({ sessionId })).status === SessionStatus.RUNNING ? true : undefined,
      );
      await direct().stopSession({ sessionId });
    };
    try {
      await Promise.all([readRaw(), readSdk(), readLate(), cuts()]);
    } finally {
      connection[Symbol.dispose]();
    }
    const said = [raw, sdk, late].map(String).join("\n");
    if (CUTS > 100) process.stderr.write(`seed ${SEED}, the daemon killed ${cut.kills} times\n${said}\n`);
    for (const lines of [raw, sdk, late]) expect(lines.faults, said).toEqual([]);
    expect(sdk.repeats, said).toBe(0);
    expect(late.gaps, said).toBeGreaterThanOrEqual(overflows);
    expect(raw.types.has(EventType.STDOUT)).toBe(true);
  },
  120_000 + CUTS * 2000,
);
