import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { mintToken } from "../../internal/auth/mint-token.ts";
import { BridgeService } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { newAuthority } from "../../internal/pki/authority.ts";
import { newKeyPair, privateKeyPem } from "../../internal/pki/key-pair.ts";
import { newLeaf } from "../../internal/pki/leaf.ts";
import { type SidecarConnection, sidecarTransport } from "../../internal/rpc/client/transport.ts";
import type { TestCluster } from "./cluster.ts";
import { ownProgram } from "./programs.ts";
import { until } from "./sidecar.ts";

const TOWN = "town.example";
const CA_NAMESPACE = "gastown-ca";
const SYSTEM = "gastown";

/** A replica of the controller inside the cluster's network, and a client of it. */
export interface RunningReplica extends AsyncDisposable {
  readonly client: Client<typeof BridgeService>;
  log(): string;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** A cluster with a CA and one namespace for agents, in which controllers run as processes of this machine. */
export class ControllerCluster implements AsyncDisposable {
  readonly agents = "agents";
  readonly cluster: TestCluster;
  readonly #control: NonNullable<TestCluster["control"]>;
  readonly #dir: string;
  readonly #tool: string;
  readonly #name: string;
  readonly #jwt = generateKeyPairSync("ed25519");
  readonly #running: RunningReplica[] = [];
  #ca = "";
  #client = { cert: "", key: "" };

  private constructor(
    cluster: TestCluster,
    control: NonNullable<TestCluster["control"]>,
    tool: string,
    name: string,
    dir: string,
  ) {
    this.cluster = cluster;
    this.#control = control;
    this.#tool = tool;
    this.#name = name;
    this.#dir = dir;
  }

  /** `tool`: the program that made the cluster of that name. */
  static async make(
    cluster: TestCluster,
    control: NonNullable<TestCluster["control"]>,
    tool: string,
    name: string,
  ): Promise<ControllerCluster> {
    const dir = await mkdtemp(join(tmpdir(), "gt-controller-"));
    const made = new ControllerCluster(cluster, control, tool, name, dir);
    await made.#setUp();
    return made;
  }

  async configure(image: string, sessions: object): Promise<void> {
    const command = ["gt-demo-agent", "--turn-ms", "100", "--steps", "1"];
    const config = {
      trust_domain: TOWN,
      server: { listen: "127.0.0.1:0", health_listen: "127.0.0.1:0", names: ["localhost", "127.0.0.1"] },
      ca: { namespace: CA_NAMESPACE, secret: "gastown-ca" },
      auth: { jwt_public_keys: [{ issuer: "shop", key_path: "shop.pub" }] },
      namespaces: [{ name: this.agents, project: "shop" }],
      providers: { demo: { image, image_pull_policy: "IfNotPresent", command } },
      sessions,
      audit: { path: join(this.#dir, "audit.log") },
    };
    await this.#write("controller.yaml", JSON.stringify(config));
  }

  /** Starts a replica and waits until it is ready. */
  async replica(): Promise<RunningReplica> {
    const config = JSON.stringify(join(this.#dir, "controller.yaml"));
    const inner = `exec ${process.execPath} ${ownProgram("gt-controller")} --config ${config} --namespace ${SYSTEM} --kubeconfig "$KUBECONFIG"`;
    const child = spawn(this.#tool, ["in", "bash", "-c", inner], {
      env: { ...process.env, GT_CLUSTER: this.#name },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
    const listen = await until(
      "a ready replica",
      30_000,
      () => {
        if (child.exitCode !== null) throw new Error(`the replica ended\n${log}`);
        return log.includes('"msg":"ready"')
          ? /"listen":"127\.0\.0\.1:(\d+)"[^}]*"msg":"serving"/.exec(log)?.[1]
          : undefined;
      },
      () => log,
    );
    const outer = String(20_000 + Math.floor(Math.random() * 20_000));
    await this.#control("expose", outer, `127.0.0.1:${listen}`);
    const replica = this.#replica(child, () => log, outer);
    this.#running.push(replica);
    return replica;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.#running) await replica[Symbol.asyncDispose]();
    await rm(this.#dir, { recursive: true, force: true });
  }

  #replica(child: ChildProcess, log: () => string, port: string): RunningReplica {
    const { connection, client } = this.#connect(port);
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const kill = async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await ended;
    };
    return {
      client,
      log,
      kill,
      [Symbol.asyncDispose]: async () => {
        connection[Symbol.dispose]();
        if (child.exitCode === null && child.signalCode === null) await kill("SIGKILL");
      },
    };
  }

  #connect(port: string): { readonly connection: SidecarConnection; readonly client: Client<typeof BridgeService> } {
    const certificate = new X509Certificate(this.#client.cert);
    const authorize: Interceptor = (next) => (request) => {
      const claims = {
        issuer: "shop",
        subject: "ann",
        project: "shop",
        audience: "bridge",
        ttlMs: 120_000,
        certificate,
      };
      request.header.set("authorization", `Bearer ${mintToken(this.#jwt.privateKey, claims, Date.now())}`);
      return next(request);
    };
    const tls = { ...this.#client, ca: this.#ca };
    const connection = sidecarTransport({ baseUrl: `https://127.0.0.1:${port}`, tls, interceptors: [authorize] });
    return { connection, client: createClient(BridgeService, connection.transport) };
  }

  async #setUp(): Promise<void> {
    const now = Date.now();
    const [keys, clientKeys] = [await newKeyPair("ecdsa-p384"), await newKeyPair("ecdsa-p384")];
    this.#ca = newAuthority(keys, { name: "town", trustDomain: TOWN, days: 30, now });
    const signer = { certificate: new X509Certificate(this.#ca), key: keys.privateKey };
    const leaf = { type: "client", name: "shop", hosts: [], uris: [], trustDomain: TOWN, namespace: "" } as const;
    const cert = newLeaf({ ...leaf, crlUrl: undefined, days: 1, now }, clientKeys.publicKey, signer);
    this.#client = { cert, key: privateKeyPem(clientKeys.privateKey) };
    await this.#write("shop.pub", this.#jwt.publicKey.export({ type: "spki", format: "pem" }).toString());
    const files = [
      `--from-file=ca.crt=${await this.#write("ca.crt", this.#ca)}`,
      `--from-file=ca.key=${await this.#write("ca.key", privateKeyPem(keys.privateKey))}`,
    ];
    const { cluster } = this;
    for (const name of [CA_NAMESPACE, SYSTEM, this.agents]) await cluster.kubectl(["create", "namespace", name]);
    const restricted = "pod-security.kubernetes.io/enforce=restricted";
    await cluster.kubectl(["label", "namespace", this.agents, restricted]);
    await cluster.kubectl(["-n", CA_NAMESPACE, "create", "secret", "generic", "gastown-ca", ...files]);
  }

  async #write(name: string, text: string): Promise<string> {
    const path = join(this.#dir, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }
}
