import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ModelServer, type ModelServerOptions } from "../../fakes/model-server.ts";
import { type RunningSidecar, startSidecar } from "../sidecar/sidecar.ts";
import { type AgentHomeOptions, type AgentKind, makeAgentHome } from "./agents-home.ts";
import { type AgentProgram, agentProgram } from "./agents-install.ts";

/** A real agent under a real sidecar, talking to a fake model on loopback. */
export interface RealAgent extends AsyncDisposable {
  readonly sidecar: RunningSidecar;
  readonly model: ModelServer;
  readonly workdir: string;
}

export interface RealAgentSetup {
  readonly program: AgentProgram;
  readonly state?: AgentHomeOptions["state"];
  readonly wordDelayMs?: number;
  /** The model's behaviour; default: as keywords in the messages demand. */
  readonly act?: ModelServerOptions["act"];
  /** The agent's arguments. By default Claude Code asks for permission, whatever its default mode is. */
  readonly args?: readonly string[] | undefined;
  readonly flags?: readonly string[];
  /** Its address; default: the sidecar's. */
  readonly address?: string;
  /** More variables for the sidecar and the agent, beside those of its home. */
  readonly env?: Readonly<Record<string, string>>;
  /** The sidecar's file; default: its sources. */
  readonly sidecarProgram?: string | undefined;
}

export async function startRealAgent(setup: RealAgentSetup): Promise<RealAgent> {
  const agent = setup.program.split("-", 1)[0] as AgentKind;
  const program = await agentProgram(setup.program);
  const dir = await mkdtemp(join(tmpdir(), "gt-real-"));
  const model = await ModelServer.listen({ wordDelayMs: setup.wordDelayMs ?? 0, act: setup.act });
  const state = setup.state === undefined ? {} : { state: setup.state };
  const home = await makeAgentHome({ agent, dir, modelUrl: model.url, ...state });
  // The usual name, by which the profile recognises its program.
  await mkdir(join(dir, "bin"));
  await symlink(program, join(dir, "bin", agent));
  const released = async () => {
    await model[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  const sidecar = await startSidecar({
    agent,
    command: [join(dir, "bin", agent), ...(setup.args ?? (agent === "claude" ? ["--permission-mode", "default"] : []))],
    env: { ...home.env, ...setup.env },
    address: setup.address,
    flags: ["--workdir", home.workdir, ...(setup.flags ?? [])],
    program: setup.sidecarProgram,
  }).catch(async (err: unknown) => {
    await released();
    throw err;
  });
  return {
    sidecar,
    model,
    workdir: home.workdir,
    [Symbol.asyncDispose]: async () => {
      await sidecar[Symbol.asyncDispose]();
      await released();
    },
  };
}
