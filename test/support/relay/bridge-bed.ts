import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { BridgeFolder, type RunningBridge } from "../bridge/bridge-folder.ts";
import { freePort } from "../bridge/free-port.ts";
import { until } from "../sidecar/sidecar.ts";
import { NatsServer, oldestNats } from "./nats-server.ts";
import { Coordinator, type Stored } from "./relay-bed.ts";
import { type RelayOptions, RelayProcess, wholeLines } from "./relay-process.ts";

const PATIENCE_MS = 300_000;

/** A bridge, NATS, and the configuration of a relay between them. */
export class BridgeBed implements AsyncDisposable {
  readonly folder: BridgeFolder;
  readonly nats: NatsServer;
  readonly coordinator: Coordinator;
  readonly #config: string;
  readonly #port: number;
  bridge: RunningBridge;
  #files: Promise<string> | undefined;

  private constructor(parts: Pick<BridgeBed, "folder" | "nats" | "coordinator" | "bridge">, config: string) {
    this.folder = parts.folder;
    this.nats = parts.nats;
    this.coordinator = parts.coordinator;
    this.bridge = parts.bridge;
    this.#config = config;
    this.#port = parts.bridge.port;
  }

  /**
   * @param sections additional sections of bridge.yaml. Demo agents write the messages that they take to the file
   * `taken`.
   */
  static async create(
    sections: (folder: BridgeFolder) => object | Promise<object> = () => ({}),
    program = oldestNats(),
  ): Promise<BridgeBed> {
    const folder = await BridgeFolder.create();
    const nats = await NatsServer.start(await program);
    const coordinator = await Coordinator.connect(nats);
    const logs = ["--log", folder.path("taken"), "--tool-log", folder.path("tools")];
    const args = ["--turn-ms", "200", "--steps", "1", ...logs];
    const server = { listen: `127.0.0.1:${await freePort()}` };
    const usual = { server, providers: { demo: { args } } };
    const config = await folder.configure({ ...usual, ...(await sections(folder)) });
    return new BridgeBed({ folder, nats, coordinator, bridge: await folder.start(config) }, config);
  }

  /** Kills the bridge. */
  async killBridge(): Promise<void> {
    this.bridge.process.kill("SIGKILL");
    await this.bridge.exited;
  }

  /** Starts the bridge again, at the same address. */
  async startBridge(): Promise<void> {
    this.bridge = await this.folder.start(this.#config);
  }

  /** A role of relay.yaml that uses a session of the bridge. */
  role(more: object = {}): object {
    return { link: "bridge", bridge: "host", provider: "demo", repo_path: this.folder.path("repos/one"), ...more };
  }

  /** Writes a relay's configuration with these roles; returns its path. */
  async configure(name: string, roles: object, turns: object = {}): Promise<string> {
    this.#files ??= this.folder.consumerFolder(this.folder.prd);
    const dir = await this.#files;
    const { name: issuer } = this.folder.prd;
    const host = {
      ...{ target: `127.0.0.1:${this.#port}`, tls_dir: dir, jwt_key: `${dir}/jwt-signing.key` },
      ...{ jwt_issuer: issuer, project: issuer },
    };
    const file = this.folder.path(`relay-${name}.yaml`);
    const times = { create_timeout: "10m", permission_timeout: "30m", ...turns };
    await writeFile(file, JSON.stringify({ turns: times, roles, bridges: { host } }));
    return file;
  }

  /** A relay with these roles. */
  async relay(name: string, roles: object, turns: object = {}, options: RelayOptions = {}): Promise<RelayProcess> {
    const config = await this.configure(name, roles, turns);
    return RelayProcess.start(this.nats.url, { ...options, args: ["--config", config, ...(options.args ?? [])] });
  }

  /** The messages that the demo agents have taken, in order. */
  async taken(): Promise<readonly string[]> {
    const file = this.folder.path("taken");
    const text = existsSync(file) ? await readFile(file, "utf8") : "";
    return wholeLines(text).map((line) => (JSON.parse(line) as { readonly text: string }).text);
  }

  /** The commands that the demo agents would have run; undefined: none yet. */
  async tools(): Promise<string | undefined> {
    const file = this.folder.path("tools");
    return existsSync(file) ? await readFile(file, "utf8") : undefined;
  }

  async isTaken(text: string): Promise<void> {
    await until(`the agent to take ${text}`, PATIENCE_MS, async () => (await this.taken()).includes(text) || undefined);
  }

  /** The results of a lane in short form, once there are `count`. */
  async answers(session: string, count: number, role = "coding"): Promise<readonly string[]> {
    const stored = await until(`${count} results of ${session}`, PATIENCE_MS, async () => {
      const found = await this.coordinator.stored("RELAY_RESULTS", `sessions.${session}.results.${role}`);
      return found.length >= count ? found : undefined;
    });
    return stored.map(shortOf);
  }

  /** The approval request number `count` of a session, or of one role in it, once it exists. */
  async approval(session: string, count: number, role?: string): Promise<Stored> {
    return await until(`approval ${count} of ${session}`, PATIENCE_MS, async () => {
      const found = await this.coordinator.stored("RELAY_EVENTS", `sessions.${session}.approvals`);
      const requests = found.filter(({ body }) => body["type"] === "approval.requested");
      return requests.filter((each) => role === undefined || payloadOf(each)["role"] === role)[count - 1];
    });
  }

  /** Answers an approval request: `granted` or `rejected`. */
  async decide(session: string, request: Stored, decision: string): Promise<void> {
    const { approval_id } = payloadOf(request);
    const answer = { id: `${approval_id}-a`, type: `approval.${decision}`, payload: { approval_id } };
    await this.coordinator.js.publish(`sessions.${session}.approvals`, JSON.stringify(answer));
  }

  /** The ids of the bridge's running sessions. */
  async running(): Promise<readonly string[]> {
    const { sessions } = await this.folder.client(this.bridge, this.folder.prd).listSessions({});
    return sessions.filter(({ status }) => status === 2).map(({ sessionId }) => sessionId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.coordinator[Symbol.asyncDispose]();
    await this.nats[Symbol.asyncDispose]();
    await this.folder[Symbol.asyncDispose]();
  }
}

export function task(id: string, text: string, role = "coding", more: object = {}): object {
  return { id, type: `work.${role}`, payload: { task: text, ...more } };
}

function payloadOf({ body }: Stored): Readonly<Record<string, string | undefined>> {
  return body["payload"] as Readonly<Record<string, string | undefined>>;
}

function shortOf(stored: Stored): string {
  const { body } = stored;
  const { text, reason, by } = payloadOf(stored);
  return `${String(body["id"])} ${String(body["type"]).replace("result.", "")}: ${text ?? reason ?? by}`;
}
