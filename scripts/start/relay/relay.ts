import { rm } from "node:fs/promises";
import { join } from "node:path";
import { aborted } from "../../../internal/base/abort.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import { runTasks } from "../../../internal/base/task-group.ts";
import { Output } from "../../../internal/cli/output.ts";
import type { MainContext } from "../../../internal/cli/run-main.ts";
import { makeTemporaryFolder } from "../../../internal/files/temporary-folder.ts";
import { ensureNatsServer } from "../../programs/ensure-nats-server.ts";
import { nodeCommand } from "../agent-command.ts";
import { runChild } from "../child-program.ts";
import { shellPath } from "../gt-commands.ts";
import { preferredPort } from "../preferred-port.ts";
import { privateNats } from "./private-nats.ts";
import { relayTour, TOUR_LANE_ROLE, TOUR_LANE_SESSION } from "./tour.ts";

export interface RelayTourOptions {
  /** The folder of the clone. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  /** End after the tour. */
  readonly once: boolean;
}

/** The preferred ports. */
const FAVOURITES = { nats: 4222, relay: 8080, health: 8081 } as const;

type Ports = Readonly<Record<keyof typeof FAVOURITES, number>>;

/**
 * Runs a nats-server, a relay, an agent, and one coding task through them, and prints the next steps. All of it is
 * removed at the end.
 */
export async function startRelay(context: MainContext, { root, env, once }: RelayTourOptions): Promise<number> {
  const { clock, signal, stdout } = context;
  const out = new Output(stdout, context.env);
  const nats = await ensureNatsServer({ log: (line) => out.line(printable`${line} …`), env });
  const folder = await makeTemporaryFolder("gt-relay-");
  try {
    const ports = { nats: 0, relay: 0, health: 0 };
    for (const name of ["nats", "relay", "health"] as const) ports[name] = await preferredPort(FAVOURITES[name]);
    sayTaken(out, ports);
    const natsUrl = `nats://127.0.0.1:${ports.nats}`;
    const agentUrl = `ws://127.0.0.1:${ports.relay}/acp/${TOUR_LANE_SESSION}/${TOUR_LANE_ROLE}?agent_id=agent_abc`;
    out.line(printable`starting nats-server, a relay and an agent …`);
    const { nkey, config, authenticator } = await privateNats(folder);
    const place = ["-a", "127.0.0.1", "-p", String(ports.nats)];
    const server = [nats, "-c", config, "-js", "-sd", folder, ...place] as const;
    const listen = ["--listen", `127.0.0.1:${ports.relay}`, "--health-listen", `127.0.0.1:${ports.health}`];
    const natsFlags = ["--nats-url", natsUrl, "--nats-nkey", nkey];
    const relay = [...nodeCommand(root, "cmd/relay/main.ts"), "serve", ...natsFlags, ...listen] as const;
    const agent = [...nodeCommand(root, "examples/relay-agent/main.ts"), agentUrl] as const;
    const relayEnv = { ...env, OUROCODUS_RELAY_PORT: "", OUROCODUS_NATS_URL: "" };
    let isGood = false;
    const show = async (stop: AbortSignal) => {
      isGood = await relayTour({ clock, out, natsUrl, authenticator }, stop);
      if (once) return;
      out.line();
      out.line(printable`in another terminal, while this runs (Ctrl-C ends it):`);
      const asTyped = (path: string) => shellPath(path, context.env["HOME"]);
      const steps = nextSteps(
        `node ${asTyped(join(root, "scripts/launch.mjs"))} cmd/relay/main.ts`,
        `${natsUrl} --nats-nkey ${asTyped(nkey)}`,
        ports,
      );
      for (const step of steps) out.line(printable`  ${step}`);
      await aborted(stop);
    };
    // The agent and the relay end first: they still have messages to return to NATS.
    const served = new AbortController();
    await runTasks(signal, [
      { run: () => runChild(clock, { name: "nats-server", command: server, env }, served.signal) },
      {
        run: async (stop) => {
          try {
            await runTasks(stop, [
              { run: (end) => runChild(clock, { name: "the relay", command: relay, env: relayEnv }, end) },
              { run: (end) => runChild(clock, { name: "the agent", command: agent, env }, end) },
              { run: show },
            ]);
          } finally {
            served.abort();
          }
        },
      },
    ]);
    if (!once) return 0;
    out.line();
    out.line(isGood ? out.paint("green", "all as expected") : out.paint("red", "not as expected"));
    return isGood ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function sayTaken(out: Output, ports: Ports): void {
  for (const name of ["nats", "relay", "health"] as const) {
    if (ports[name] === FAVOURITES[name]) continue;
    out.line(printable`port ${FAVOURITES[name]} is taken: ${name} is on ${ports[name]}`);
  }
}

/** `nats`: the address of NATS, followed by the flag that names its key. */
function nextSteps(relay: string, nats: string, { health }: Ports): readonly string[] {
  const place = `--nats-url ${nats} --session ${TOUR_LANE_SESSION}`;
  return [
    `${relay} send ${place} --role ${TOUR_LANE_ROLE} --wait "Write a test"`,
    `${relay} send ${place} --role ${TOUR_LANE_ROLE} --wait --tool-result tool_1 "Switched to a new branch"`,
    `${relay} results ${place}`,
    `${relay} status --nats-url ${nats}`,
    `curl -s http://127.0.0.1:${health}/metrics | grep gastown_relay_`,
  ];
}
