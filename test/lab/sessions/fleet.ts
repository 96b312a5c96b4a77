import { mkdirSync } from "node:fs";
import { type BridgeClient, createClient as createSdkClient } from "../../../pkg/bridgeclient/index.ts";
import { ModelServer } from "../../fakes/model-server.ts";
import { agentInHome } from "../../support/agents/agent-in-home.ts";
import type { AgentKind } from "../../support/agents/agents-home.ts";
import type { AgentProgram } from "../../support/agents/agents-install.ts";
import { BridgeFolder, type Consumer, type RunningBridge } from "../../support/bridge/bridge-folder.ts";
import type { TakeFault } from "./fault.ts";
import { FleetMember } from "./fleet-member.ts";

/** The number of sessions of each kind. */
export interface FleetSize {
  readonly demo: number;
  readonly terminals: number;
  readonly real: number;
}

const PROGRAMS: readonly (readonly [AgentKind, AgentProgram])[] = [
  ["claude", "claude-2.1.330"],
  ["codex", "codex-0.169.0"],
  ["opencode", "opencode-1.18.33"],
];
/** So few that each session's log is full within minutes: later growth does not come from events. */
const EVENT_BUFFER = 100;
/** The flag with which the service of `deploy/bridge` starts the bridge. */
const AS_A_SERVICE = "--max-semi-space-size=4";
const START_MS = 240_000;
/** The number of programs that start at the same time. */
const AT_ONCE = 4;

/** A bridge with sessions of two projects: the demo agent and real agents, each over stdio and in tmux. */
export class Fleet implements AsyncDisposable {
  readonly folder: BridgeFolder;
  readonly bridge: RunningBridge;
  readonly clients: readonly BridgeClient[];
  readonly members: readonly FleetMember[];
  readonly #model: ModelServer;

  private constructor(
    folder: BridgeFolder,
    model: ModelServer,
    bridge: RunningBridge,
    clients: readonly BridgeClient[],
    members: readonly FleetMember[],
  ) {
    this.folder = folder;
    this.bridge = bridge;
    this.clients = clients;
    this.members = members;
    this.#model = model;
  }

  static async start(size: FleetSize, takeFault: TakeFault, signal: AbortSignal): Promise<Fleet> {
    await using stack = new AsyncDisposableStack();
    const model = stack.use(await ModelServer.listen());
    const folder = stack.use(await BridgeFolder.create());
    const count = size.demo + size.terminals + size.real;
    const real = size.real === 0 ? [] : await realPrograms(folder, model.url);
    const config = {
      providers: {
        demo: { args: ["--turn-ms", "500", "--steps", "2"], startup_timeout: "3m" },
        ...Object.fromEntries(real.map(({ kind, binary }) => [kind, { binary, startup_timeout: "3m" }])),
      },
      sessions: { max_per_project: count, max_global: count, event_buffer_size: EVENT_BUFFER },
      audit: { path: "audit.jsonl" },
    };
    const bridge = await folder.start(config, { NODE_OPTIONS: AS_A_SERVICE });
    const owners = [folder.prd, folder.ndara];
    const clients: BridgeClient[] = [];
    for (const owner of owners) clients.push(stack.use(await sdkClient(folder, bridge, owner)));
    const plans = [
      ...Array.from({ length: size.real }, (_, i) => realPlan(real, i)),
      ...Array.from({ length: size.demo }, () => demoPlan(folder, "stdio")),
      ...Array.from({ length: size.terminals }, () => demoPlan(folder, "terminal")),
    ];
    const members = plans.map(
      ({ kind, mode, repoPath }, i) =>
        new FleetMember(
          clients[i % 2] as BridgeClient,
          { id: `${kind}-${mode}-${i}`, project: (owners[i % 2] as Consumer).name, kind, mode, repoPath },
          takeFault,
        ),
    );
    const left = [...members];
    const starter = async () => {
      for (let member = left.shift(); member !== undefined; member = left.shift()) await member.start(START_MS, signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, starter));
    stack.move();
    return new Fleet(folder, model, bridge, clients, members);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) await client.close();
    await this.folder[Symbol.asyncDispose]();
    await this.#model[Symbol.asyncDispose]();
  }
}

interface RealProgram {
  readonly kind: AgentKind;
  readonly binary: string;
  readonly workdir: string;
}

function realPrograms(folder: BridgeFolder, modelUrl: string): Promise<readonly RealProgram[]> {
  return Promise.all(
    PROGRAMS.map(async ([kind, program]) => ({
      kind,
      ...(await agentInHome(folder.path("repos", kind), kind, program, modelUrl)),
    })),
  );
}

function demoPlan(folder: BridgeFolder, mode: "stdio" | "terminal") {
  const repoPath = folder.path("repos", "one");
  mkdirSync(repoPath, { recursive: true });
  return { kind: "demo", mode, repoPath } as const;
}

/** First each program over stdio, then each in a terminal, then each over stdio again, and so on. */
function realPlan(programs: readonly RealProgram[], index: number) {
  const { kind, workdir } = programs[index % programs.length] as RealProgram;
  const mode = Math.floor(index / programs.length) % 2 === 0 ? "stdio" : "terminal";
  return { kind, mode, repoPath: workdir } as const;
}

async function sdkClient(folder: BridgeFolder, { port }: RunningBridge, by: Consumer): Promise<BridgeClient> {
  const dir = await folder.consumerFolder(by);
  return createSdkClient({
    target: `localhost:${port}`,
    mtls: { caCertPath: `${dir}/ca.crt`, certPath: `${dir}/tls.crt`, keyPath: `${dir}/tls.key` },
    jwt: {
      ...{ privateKeyPath: `${dir}/jwt-signing.key`, issuer: by.name, audience: "bridge" },
      ...{ subject: "app", projectId: by.name },
    },
  });
}
