import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { readControllerConfig } from "../../../cmd/gt-controller/controller-config.ts";
import { mintToken } from "../../../internal/auth/mint-token.ts";
import { agentPod } from "../../../internal/controller/pods/pod-template.ts";
import { clientRules } from "../../../internal/controller/pods/settings.ts";
import { sessionPodPlan } from "../../../internal/controller/sessions/session-pod.ts";
import { BridgeService } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { newAuthority } from "../../../internal/pki/authority.ts";
import type { Signer } from "../../../internal/pki/certify.ts";
import { newKeyPair, privateKeyPem } from "../../../internal/pki/key-pair.ts";
import { newLeaf } from "../../../internal/pki/leaf.ts";
import { type SidecarConnection, sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import type { TlsMaterial } from "../../../internal/rpc/common/tls.ts";
import { programFile } from "../programs.ts";
import { until } from "../sidecar/sidecar.ts";
import type { TestCluster } from "./cluster.ts";

export const TOWN = "town.example";
/** The validity of a client's token; it is renewed after half of that. */
const TOKEN_MS = 120_000;
/** With other work on every core, a program takes long to start. */
const READY_MS = 90_000;
/** Node's flags in Dockerfile.controller. */
export const AS_IN_THE_IMAGE = ["--disable-sigusr1", "--max-semi-space-size=4"];
const SHIFTED_CLOCK = new URL("../../fakes/shifted-clock.ts", import.meta.url).href;

/** A replica of the controller, and a client of it. */
export interface RunningReplica extends AsyncDisposable {
  readonly client: Client<typeof BridgeService>;
  /** Opens another connection, with the client's current certificate. `token` replaces the token of `shop`. */
  connect(token?: string): ClientConnection;
  readonly pid: number;
  log(): string;
  /** Sends the signal; for a signal that ends the process, resolves when it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

interface ClientConnection extends Disposable {
  readonly client: Client<typeof BridgeService>;
}

/** The program that made a cluster, for controllers that must reach its pods. */
export interface ClusterNetwork {
  readonly control: NonNullable<TestCluster["control"]>;
  readonly tool: string;
  readonly name: string;
}

/** A cluster with a CA and one namespace for agents, in which controllers run as processes of this machine. */
export class ControllerCluster implements AsyncDisposable {
  readonly agents: string;
  /** The namespace in which pods that others create become sessions. */
  readonly adopting: string;
  readonly system: string;
  readonly ca: { readonly namespace: string; readonly secret: string };
  readonly trustDomain = TOWN;
  readonly cluster: TestCluster;
  readonly #network: ClusterNetwork | undefined;
  readonly #dir: string;
  /** The key pair with which the issuer `shop` signs its tokens. */
  readonly tokenKeys = generateKeyPairSync("ed25519");
  readonly #running: RunningReplica[] = [];
  readonly #reconnect: (() => void)[] = [];
  #caPem = "";
  #client = { cert: "", key: "" };

  private constructor(cluster: TestCluster, network: ClusterNetwork | undefined, prefix: string, dir: string) {
    [this.agents, this.adopting, this.system] = [`${prefix}-agents`, `${prefix}-desk`, `${prefix}-system`];
    this.ca = { namespace: `${prefix}-ca`, secret: "gastown-ca" };
    this.cluster = cluster;
    this.#network = network;
    this.#dir = dir;
  }

  /** Without `network`, the controllers run outside the cluster's network and reach no pod. `prefix`: of namespaces. */
  static async make(
    cluster: TestCluster,
    network: ClusterNetwork | undefined,
    prefix = "town",
  ): Promise<ControllerCluster> {
    const dir = await mkdtemp(join(tmpdir(), "gt-controller-"));
    const made = new ControllerCluster(cluster, network, prefix, dir);
    await made.#setUp();
    return made;
  }

  /** `more`: additional keys of the configuration. */
  async configure(image: string, sessions: object, more: object = {}): Promise<void> {
    const command = ["gt-demo-agent", "--turn-ms", "100", "--steps", "1"];
    const demo = { image, agent: "demo", image_pull_policy: "IfNotPresent", command };
    const config = {
      trust_domain: TOWN,
      server: { listen: "127.0.0.1:0", health_listen: "127.0.0.1:0", names: ["localhost", "127.0.0.1"] },
      ca: { ...this.ca, reload: "1s", keep_previous: "20s" },
      auth: { jwt_public_keys: [{ issuer: "shop", key_path: "shop.pub" }] },
      namespaces: [
        { name: this.agents, project: "shop" },
        { name: this.adopting, project: "shop", providers: [], adopt: { accounts: ["deployer"] } },
      ],
      providers: {
        demo,
        busy: { ...demo, command: ["gt-demo-agent", "--turn-ms", "600000", "--steps", "1"] },
        unknown: { ...demo, image: "localhost/none:1", image_pull_policy: "Never" },
        huge: { ...demo, resources: { requests: { cpu: "1000" }, limits: {} } },
        slot: { ...demo, resources: { requests: { "example.org/slot": "1" }, limits: { "example.org/slot": "1" } } },
        away: { ...demo, node_selector: { "example.org/away": "true" } },
        hungry: { ...demo, resources: { requests: {}, limits: { memory: "24Mi" } } },
      },
      sessions,
      session_tokens: { key_path: "agents.key", ttl: "10s" },
      audit: { path: join(this.#dir, "audit.log") },
      ...more,
    };
    await this.#write("controller.yaml", JSON.stringify(config));
  }

  /** The manifest, as JSON, of a session's pod for others to create. It mounts the Secret `gastown-session-NAME`. */
  async foreignPod(name: string): Promise<string> {
    const { settings } = readControllerConfig(
      await readFile(join(this.#dir, "controller.yaml"), "utf8"),
      "controller.yaml",
    );
    const [binding] = settings.namespaces;
    if (binding === undefined) throw new Error("no namespace");
    const session = { id: name, provider: "demo", repoPath: "/workspace", agentOpts: {}, startedBy: "deployer" };
    const allowClients = clientRules(settings, [{ issuer: "shop" }], this.system);
    const options = { retentionMs: 5_000, allowClients, hasTokens: false };
    const plan = sessionPodPlan(session, binding, options);
    const { "gastown.io/agent": agent = name } = plan.labels;
    const labels = { "gastown.io/agent": agent, "gastown.io/session": name };
    const credentials = { type: "secret", name: `gastown-session-${name}` } as const;
    return JSON.stringify(agentPod({ ...plan, name, labels, annotations: {}, credentials, gated: false }));
  }

  /** The certificate of `client`, for direct calls of sidecars. */
  get callerTls(): TlsMaterial {
    return { ...this.#client, ca: this.#caPem };
  }

  /** The current contents of the CA's Secret. */
  async caSecret(): Promise<Readonly<Record<string, string>>> {
    const read = ["-n", this.ca.namespace, "get", "secret", "gastown-ca", "-o", "jsonpath={.data}"];
    const data = JSON.parse(await this.cluster.kubectl(read)) as Record<string, string>;
    return Object.fromEntries(
      Object.entries(data).map(([key, base64]) => [key, Buffer.from(base64, "base64").toString()]),
    );
  }

  async putInCaSecret(key: string, text: string): Promise<void> {
    const patch = JSON.stringify({ data: { [key]: Buffer.from(text).toString("base64") } });
    await this.cluster.kubectl(["-n", this.ca.namespace, "patch", "secret", "gastown-ca", "--type=merge", "-p", patch]);
  }

  /** Has the current CA issue a certificate for a client; returns it with its key and the CA's certificate. */
  async issueClient(name: string): Promise<TlsMaterial> {
    const data = await this.caSecret();
    return { ...(await clientOf(name, signerIn(data))), ca: data["ca.crt"] ?? "" };
  }

  /** Makes all new connections, including those of `client`, use a new certificate and trust the current CA. */
  async renewClient(): Promise<void> {
    const { ca, ...client } = await this.issueClient("shop");
    [this.#caPem, this.#client] = [String(ca), { cert: String(client.cert), key: String(client.key) }];
    for (const reconnect of this.#reconnect) reconnect();
  }

  /** Runs a command of gt-controller, with the rights of `account` or as a cluster admin; returns its output. */
  async command(name: string, account?: string, args: readonly string[] = []): Promise<string> {
    const config = ["--config", join(this.#dir, "controller.yaml"), "--namespace", this.system];
    const kubeconfig = await this.#kubeconfig(account);
    const all = [programFile("gt-controller"), name, ...args, ...config, "--kubeconfig", kubeconfig];
    return (await promisify(execFile)(process.execPath, all, { timeout: 120_000 })).stdout;
  }

  /** A folder with a caller's files, for `--tls-dir`. */
  async callerFolder(): Promise<string> {
    await this.#write("ca.crt", this.#caPem);
    await this.#write("tls.crt", this.#client.cert);
    await this.#write("tls.key", this.#client.key);
    return this.#dir;
  }

  /**
   * Starts a replica and waits until it is ready. `account`: the account with whose rights it runs; undefined: a
   * cluster admin. `clock`: how far its wall clock is ahead; TLS uses the machine's clock.
   */
  async replica(account?: string, clock: { readonly aheadMs: number } = { aheadMs: 0 }): Promise<RunningReplica> {
    const child = await this.#spawn(account, clock.aheadMs);
    let log = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
    const listen = await until(
      "a ready replica",
      READY_MS,
      () => {
        if (child.exitCode !== null) throw new Error(`the replica ended\n${log}`);
        return log.includes('"msg":"ready"')
          ? /"listen":"127\.0\.0\.1:(\d+)"[^}]*"msg":"serving"/.exec(log)?.[1]
          : undefined;
      },
      () => log,
    );
    const replica = this.#replica(child, () => log, await this.#exposed(listen));
    this.#running.push(replica);
    return replica;
  }

  async #spawn(account: string | undefined, aheadMs: number) {
    const config = ["--config", join(this.#dir, "controller.yaml"), "--namespace", this.system];
    const command = [...AS_IN_THE_IMAGE, programFile("gt-controller"), ...config];
    const stdio: ["ignore", "ignore", "pipe"] = ["ignore", "ignore", "pipe"];
    // A killed replica leaves the temporary folder with its certificate behind: #dir is removed at the end.
    const env = { ...process.env, TMPDIR: this.#dir };
    if (this.#network === undefined) {
      const kubeconfig = await this.#kubeconfig(account);
      const shift = aheadMs === 0 ? [] : ["--import", SHIFTED_CLOCK];
      return spawn(process.execPath, [...shift, ...command, "--kubeconfig", kubeconfig], {
        env: { ...env, SHIFTED_CLOCK_MS: String(aheadMs) },
        stdio,
      });
    }
    const { tool, name } = this.#network;
    const inner = `exec ${[process.execPath, ...command].map((word) => JSON.stringify(word)).join(" ")} --kubeconfig "$KUBECONFIG"`;
    return spawn(tool, ["in", "bash", "-c", inner], { env: { ...env, GT_CLUSTER: name }, stdio });
  }

  async #kubeconfig(account: string | undefined): Promise<string> {
    const { cluster } = this;
    if (account === undefined) return cluster.kubeconfig;
    const view = JSON.parse(await cluster.kubectl(["config", "view", "--raw", "--minify", "-o", "json"]));
    view.users[0].user.as = account;
    return await this.#write(`kubeconfig-${account.replaceAll(":", "-")}.json`, JSON.stringify(view));
  }

  /** A port of this machine that leads to one in the cluster's network. */
  async #exposed(port: string): Promise<string> {
    if (this.#network === undefined) return port;
    const outer = String(20_000 + Math.floor(Math.random() * 10_000));
    await this.#network.control("expose", outer, `127.0.0.1:${port}`);
    return outer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.#running) await replica[Symbol.asyncDispose]();
    const namespaces = [this.ca.namespace, this.system, this.agents, this.adopting];
    await this.cluster.kubectl(["delete", "namespace", ...namespaces, "--wait=false", "--ignore-not-found"]);
    await rm(this.#dir, { recursive: true, force: true });
  }

  #replica(child: ChildProcess, log: () => string, port: string): RunningReplica {
    let current = this.#connect(port);
    this.#reconnect.push(() => {
      current.connection[Symbol.dispose]();
      current = this.#connect(port);
    });
    const connect = (token?: string) => {
      const made = this.#connect(port, token);
      return { client: made.client, [Symbol.dispose]: () => made.connection[Symbol.dispose]() };
    };
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const kill = async (signal: NodeJS.Signals) => {
      child.kill(signal);
      if (signal !== "SIGSTOP" && signal !== "SIGCONT") await ended;
    };
    return {
      get client() {
        return current.client;
      },
      connect,
      pid: child.pid ?? 0,
      log,
      kill,
      [Symbol.asyncDispose]: async () => {
        current.connection[Symbol.dispose]();
        if (child.exitCode === null && child.signalCode === null) await kill("SIGKILL");
      },
    };
  }

  #connect(
    port: string,
    given?: string,
  ): { readonly connection: SidecarConnection; readonly client: Client<typeof BridgeService> } {
    const certificate = new X509Certificate(this.#client.cert);
    const who = { issuer: "shop", subject: "ann", project: "shop", audience: "bridge" };
    const claims = { ...who, ttlMs: TOKEN_MS, certificate };
    let [token, madeAt] = ["", Number.NEGATIVE_INFINITY];
    const authorize: Interceptor = (next) => (request) => {
      const now = Date.now();
      const isDue = now - madeAt > TOKEN_MS / 2;
      if (isDue) [token, madeAt] = [mintToken(this.tokenKeys.privateKey, claims, now), now];
      request.header.set("authorization", `Bearer ${given ?? token}`);
      return next(request);
    };
    const tls = { ...this.#client, ca: this.#caPem };
    const connection = sidecarTransport({ baseUrl: `https://127.0.0.1:${port}`, tls, interceptors: [authorize] });
    return { connection, client: createClient(BridgeService, connection.transport) };
  }

  async #setUp(): Promise<void> {
    const now = Date.now();
    const keys = await newKeyPair("ecdsa-p384");
    this.#caPem = newAuthority(keys, { name: "town", trustDomain: TOWN, days: 30, now });
    const signer = { certificate: new X509Certificate(this.#caPem), key: keys.privateKey };
    this.#client = await clientOf("shop", signer);
    await this.#write("shop.pub", this.tokenKeys.publicKey.export({ type: "spki", format: "pem" }).toString());
    const agents = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
    await this.#write("agents.key", agents.toString());
    const data = { "ca.crt": this.#caPem, "ca.key": privateKeyPem(keys.privateKey) };
    const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
    const space = (name: string, more = {}) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name, ...more } });
    const secret = { metadata: { name: this.ca.secret, namespace: this.ca.namespace }, stringData: data };
    const items = [
      ...[space(this.ca.namespace), space(this.system)],
      ...[space(this.agents, { labels }), space(this.adopting, { labels })],
      { apiVersion: "v1", kind: "Secret", ...secret },
    ];
    await this.cluster.kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  }

  async #write(name: string, text: string): Promise<string> {
    const path = join(this.#dir, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }
}

/** Reads the CA's certificate and key from the data of its Secret. */
export function signerIn(data: Readonly<Record<string, string>>): Signer {
  return { certificate: new X509Certificate(data["ca.crt"] ?? ""), key: createPrivateKey(data["ca.key"] ?? "") };
}

async function clientOf(name: string, signer: Signer): Promise<{ readonly cert: string; readonly key: string }> {
  const keys = await newKeyPair("ecdsa-p384");
  const leaf = { type: "client", name, hosts: [], uris: [], trustDomain: TOWN, namespace: "" } as const;
  const cert = newLeaf({ ...leaf, crlUrl: undefined, days: 1, now: Date.now() }, keys.publicKey, signer);
  return { cert, key: privateKeyPem(keys.privateKey) };
}

/** Starts a session of the demo agent through a replica. */
export function startDemo({ client }: Pick<RunningReplica, "client">, sessionId: string) {
  return client.startSession({ projectId: "shop", sessionId, provider: "demo", repoPath: "/workspace" });
}
