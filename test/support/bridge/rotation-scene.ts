import { X509Certificate } from "node:crypto";
import { type Client, createClient } from "@connectrpc/connect";
import { SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { signRevocationList } from "../../../internal/pki/sign-revocation-list.ts";
import { sidecarDnsName } from "../../../internal/pki/trust-domain.ts";
import { sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import type { Forward } from "../cluster/cluster.ts";
import { type ControllerCluster, type RunningReplica, signerIn, TOWN } from "../cluster/controller-cluster.ts";
import { until } from "../sidecar/sidecar.ts";

/** Callers that call continuously, each over its own connection to one replica. */
export class CallLoad {
  readonly #running: Promise<void>[] = [];
  readonly #failed: string[] = [];
  #calls = 0;
  #isOver = false;

  static begin(replicas: readonly RunningReplica[], sessions: readonly string[]): CallLoad {
    const load = new CallLoad();
    for (const replica of replicas) for (const session of sessions) load.#running.push(load.#call(replica, session));
    return load;
  }

  /** Resolves after some more calls. */
  async enough(): Promise<void> {
    const wanted = this.#calls + 40;
    await until("more calls", 120_000, () => this.#calls >= wanted || undefined);
  }

  async end(): Promise<{ readonly calls: number; readonly failed: readonly string[] }> {
    this.#isOver = true;
    await Promise.all(this.#running);
    return { calls: this.#calls, failed: this.#failed };
  }

  async #call(replica: RunningReplica, sessionId: string): Promise<void> {
    using connection = replica.connect();
    const { client } = connection;
    while (!this.#isOver) {
      const through = `session ${sessionId} through replica ${replica.pid}`;
      const note = (err: unknown) => this.#failed.push(`${new Date().toISOString()} ${through}: ${String(err)}`);
      await client.peek({ sessionId, request: {} }, { timeoutMs: 30_000 }).catch(note);
      await client.nudge({ sessionId, request: { message: "hello" } }, { timeoutMs: 30_000 }).catch(note);
      this.#calls += 2;
    }
  }
}

/** A caller that reads from a session's sidecar directly, with a certificate of the cluster's CA. */
export class DirectCaller implements AsyncDisposable {
  readonly client: Client<typeof SidecarService>;
  readonly revoke: () => Promise<void>;
  readonly #forward: Forward;
  readonly #close: () => void;

  private constructor(parts: {
    client: Client<typeof SidecarService>;
    revoke: () => Promise<void>;
    forward: Forward;
    close: () => void;
  }) {
    this.client = parts.client;
    this.revoke = parts.revoke;
    this.#forward = parts.forward;
    this.#close = parts.close;
  }

  static async open(town: ControllerCluster, session: string, name: string): Promise<DirectCaller> {
    const { cluster, agents } = town;
    const find = [
      "-n",
      agents,
      "get",
      "pods",
      "-l",
      `gastown.io/session=${session}`,
      "-o",
      "jsonpath={.items[0].metadata.name}",
    ];
    const forward = await cluster.forward(await cluster.kubectl(find), 9090, "-n", agents);
    const tls = await town.issueClient(name);
    const serverName = sidecarDnsName(TOWN, agents, session);
    const connection = sidecarTransport({ baseUrl: `https://127.0.0.1:${forward.port}`, tls, serverName });
    const revoke = async () => {
      const now = Date.now();
      const serial = new X509Certificate(String(tls.cert)).serialNumber;
      const list = { number: 1, thisUpdate: now - 60_000, nextUpdate: now + 86_400_000 };
      const revoked = [{ serial, at: now - 60_000, reason: "key-compromise" }] as const;
      await town.putInCaSecret("crl.pem", signRevocationList({ ...list, revoked }, signerIn(await town.caSecret())));
    };
    const client = createClient(SidecarService, connection.transport);
    return new DirectCaller({ client, revoke, forward, close: () => connection[Symbol.dispose]() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await this.#forward[Symbol.asyncDispose]();
  }
}
