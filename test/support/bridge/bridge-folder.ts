import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { mintToken, type TokenRequest } from "../../../internal/auth/mint-token.ts";
import { BridgeService } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { type SidecarConnection, sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import type { ClientTls, TlsMaterial } from "../../../internal/rpc/common/tls.ts";
import { programFile } from "../programs.ts";
import { until } from "../sidecar/sidecar.ts";
import { TestCa } from "./certificates.ts";
import { writeTls } from "./secret.ts";

/** A project with its own CA, client certificate and token key. */
export interface Consumer {
  readonly name: string;
  readonly ca: TestCa;
  readonly tls: TlsMaterial;
  readonly keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
}

export interface RunningBridge extends AsyncDisposable {
  readonly process: ChildProcess;
  readonly port: number;
  readonly url: string;
  readonly healthUrl: string;
  /** Its stderr so far. */
  log(): string;
  /** Its exit code, once it has ended; -1 for a signal. */
  readonly exited: Promise<number>;
}

export interface CallerOptions {
  readonly tls?: ClientTls;
  readonly token?: Partial<TokenRequest>;
  /** Used instead of a token made by `token`; empty: none. */
  readonly authorization?: string;
}

/** Sections of bridge.yaml, merged into those of the folder. */
export type Sections = Readonly<Record<string, unknown>>;

/** A folder with a configuration of the bridge, its CA, and two consumers whose CAs it has cross-signed. */
export class BridgeFolder implements AsyncDisposable {
  readonly dir: string;
  readonly ca = new TestCa("ai-agent-bridge");
  readonly prd: Consumer;
  readonly ndara: Consumer;
  readonly #connections: SidecarConnection[] = [];
  readonly #running: RunningBridge[] = [];

  private constructor(dir: string) {
    this.dir = dir;
    this.prd = consumer("prd-manager");
    this.ndara = consumer("ndara-orchestrator");
  }

  static async create(): Promise<BridgeFolder> {
    const folder = new BridgeFolder(await realpath(await mkdtemp(join(tmpdir(), "gt-bridge-"))));
    await mkdir(folder.path("certs"));
    await mkdir(folder.path("repos", "one"), { recursive: true });
    await folder.issueServer();
    await folder.writeBundle([folder.prd, folder.ndara]);
    await folder.writeTokenKey(folder.prd, "certs/prd-manager-jwt.pub");
    await folder.writeTokenKey(folder.ndara, "certs/ndara-jwt.pub");
    return folder;
  }

  path(...parts: readonly string[]): string {
    return join(this.dir, ...parts);
  }

  /** Issues the server's certificate and key again. */
  async issueServer(names: Parameters<TestCa["issue"]>[0] = { ips: ["127.0.0.1"], dns: ["localhost"] }): Promise<void> {
    const { cert, key } = this.ca.issue(names);
    await writeFile(this.path("certs/bridge.key"), key, { mode: 0o600 });
    await writeFile(this.path("certs/bridge.crt"), cert);
  }

  async writeBundle(trusted: readonly Consumer[]): Promise<void> {
    const crossSigned = trusted.map(({ ca }) => this.ca.crossSign(ca, { pathLength: 0 }));
    await writeFile(this.path("certs/ca-bundle.crt"), [this.ca.pem, ...crossSigned].join(""));
  }

  async writeTokenKey({ keys }: Pick<Consumer, "keys">, path: string): Promise<void> {
    await writeFile(this.path(path), keys.publicKey.export({ type: "spki", format: "pem" }));
  }

  /**
   * Writes `bridge.yaml`. The keys of each of `sections` replace the usual ones of that section; a list replaces the
   * whole list.
   */
  async configure(sections: Sections = {}, name = "bridge.yaml"): Promise<string> {
    const usual: Record<string, Record<string, unknown> | readonly string[]> = {
      server: { listen: "127.0.0.1:0", health_listen: "127.0.0.1:0", state_dir: "state" },
      tls: { ca_bundle: "certs/ca-bundle.crt", cert: "certs/bridge.crt", key: "certs/bridge.key" },
      auth: {
        jwt_public_keys: [
          { issuer: this.prd.name, key_path: "certs/prd-manager-jwt.pub" },
          { issuer: this.ndara.name, key_path: "certs/ndara-jwt.pub" },
        ],
      },
      sessions: { stop_grace_period: "3s" },
      providers: { demo: { args: ["--turn-ms", "100", "--steps", "1"] } },
      allowed_paths: [this.path("repos")],
    };
    for (const [key, value] of Object.entries(sections)) {
      const isList = Array.isArray(value);
      usual[key] = isList ? value : { ...(usual[key] as Record<string, unknown>), ...(value as object) };
    }
    await writeFile(this.path(name), JSON.stringify(usual, undefined, 1));
    return this.path(name);
  }

  /** Starts the program on a configuration and waits until it serves. */
  async start(config: string | Sections = {}, more: Readonly<Record<string, string>> = {}): Promise<RunningBridge> {
    const path = typeof config === "string" ? config : await this.configure(config);
    const bridge = this.spawn(["--config", path], more);
    const ended = () => {
      if (bridge.process.exitCode !== null) throw new Error(`the bridge ended\n${bridge.log()}`);
    };
    const address = (message: string) => () => {
      ended();
      const line = bridge
        .log()
        .split("\n")
        .findLast((text) => text.includes(`"msg":"${message}"`));
      return line === undefined ? undefined : (JSON.parse(line) as { readonly listen: string }).listen;
    };
    const listen = await until("the bridge to serve", 30_000, address("serving"), bridge.log);
    const health = await until("its health port", 30_000, address("health served"), bridge.log);
    const port = Number(listen.split(":")[1]);
    const running = { ...bridge, port, url: `https://127.0.0.1:${port}`, healthUrl: `http://${health}` };
    this.#running.push(running);
    return running;
  }

  /** Runs the program with these arguments, and more variables in its environment. */
  spawn(
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Omit<RunningBridge, "port" | "url" | "healthUrl"> {
    const env = { PATH: process.env["PATH"], HOME: this.dir, LANG: "C.UTF-8", ...more };
    const child = spawn(process.execPath, [programFile("bridge"), ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env,
      cwd: "/",
    });
    let log = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        log += chunk;
      });
    }
    const exited = new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? -1)));
    const end = async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      // A kill would leave its terminals behind: many of them take long to end on a busy machine.
      const late = setTimeout(() => child.kill("SIGKILL"), 60_000);
      await exited;
      clearTimeout(late);
    };
    return { process: child, log: () => log, exited, [Symbol.asyncDispose]: end };
  }

  /** A client of one consumer; a token is made for each call. */
  client(bridge: Pick<RunningBridge, "url">, by: Consumer, options: CallerOptions = {}): Client<typeof BridgeService> {
    return createClient(BridgeService, this.transport(bridge, by, options));
  }

  transport({ url }: Pick<RunningBridge, "url">, by: Consumer, options: CallerOptions = {}): Transport {
    const { ca: _theirs, ...own } = options.tls ?? by.tls;
    const authorize: Interceptor = (next) => (request) => {
      const authorization = options.authorization ?? `Bearer ${this.token(by, options.token)}`;
      if (authorization !== "") request.header.set("authorization", authorization);
      return next(request);
    };
    const tls = { ...own, ca: this.ca.pem };
    const connection = sidecarTransport({ baseUrl: url, tls, interceptors: [authorize] });
    this.#connections.push(connection);
    return connection.transport;
  }

  /** Writes a consumer's files in its own layout; returns its folder: tls.crt, tls.key, ca.crt, jwt-signing.key. */
  async consumerFolder({ name, tls, keys }: Consumer): Promise<string> {
    const dir = this.path("consumers", name);
    await writeTls(dir, { ...tls, ca: this.ca.pem });
    const key = keys.privateKey.export({ type: "pkcs8", format: "pem" });
    await writeFile(join(dir, "jwt-signing.key"), key, { mode: 0o600 });
    return dir;
  }

  token({ name, keys }: Consumer, request: Partial<TokenRequest> = {}): string {
    const usual = { issuer: name, subject: "app", project: name, audience: "bridge", ttlMs: 120_000 };
    return mintToken(keys.privateKey, { ...usual, ...request }, Date.now());
  }

  /** The lines of the audit log at `audit.path`. */
  async audited(file: string): Promise<readonly Record<string, unknown>[]> {
    const text = await readFile(this.path(file), "utf8").catch(() => "");
    return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection[Symbol.dispose]();
    for (const bridge of this.#running) await bridge[Symbol.asyncDispose]();
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

function consumer(name: string): Consumer {
  const ca = new TestCa(name);
  return { name, ca, tls: ca.issue({ uris: [`spiffe://${name}/client/app`] }), keys: generateKeyPairSync("ed25519") };
}
