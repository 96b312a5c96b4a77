// Many sidecars in one process, without agents: the service, its log, its journal and its TLS are those of gt-sidecar;
// the terminal is written by this process. Usage: sidecar-host.ts PLACES.json. SIGUSR2: all serve again, as after the
// end of their serving halves.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { profileNamed } from "../../internal/agents/programs/registry.ts";
import type { RoleRule } from "../../internal/auth/roles.ts";
import type { TlsInUse } from "../../internal/auth/tls/tls-in-use.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { MachineTime } from "../../internal/base/machine-time.ts";
import { presentBoot } from "../../internal/base/present-boot.ts";
import { runTasks } from "../../internal/base/task-group.ts";
import { HealthState } from "../../internal/rpc/server/health.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { RpcServer } from "../../internal/rpc/server/server.ts";
import { AgentLife } from "../../internal/sidecar/agent/agent-life.ts";
import { openJournal } from "../../internal/sidecar/agent/journal-records.ts";
import { LiveAgent } from "../../internal/sidecar/agent/live-agent.ts";
import { Operator } from "../../internal/sidecar/agent/operator.ts";
import { isOpenToAll, roleGate } from "../../internal/sidecar/serving/access.ts";
import { NEEDED_ROLES, sidecarRoutes } from "../../internal/sidecar/serving/server.ts";
import { TlsServing } from "../../internal/sidecar/serving/tls-serving.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";

/** Where one of them serves; `dir` holds its `tls` and its journal. */
export interface SidecarPlace {
  readonly id: string;
  readonly ip: string;
  readonly dir: string;
}

const PORT = 9090;
const [clock, logger, profile] = [systemClock, silentLogger, profileNamed("generic")];
const SIZES = { cols: 160, rows: 50, rawBytes: 1 << 20, stallAfterMs: 600_000 };
const LOG = { eventBuffer: 1_000, eventBytes: 1 << 20, redactPatterns: [] };

const places = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as readonly SidecarPlace[];
for (;;) {
  const stop = new AbortController();
  process.once("SIGUSR2", () => stop.abort(new Error("restart")));
  const listening: Promise<unknown>[] = [];
  const running = places.map((place) => serve(place, listening, stop.signal));
  await Promise.all(places.map((_, i) => untilListening(listening, i)));
  process.stdout.write("serving\n");
  await Promise.all(running);
}

async function untilListening(all: readonly Promise<unknown>[], index: number): Promise<void> {
  while (all[index] === undefined) await clock.sleep(20);
  await all[index];
}

/** Serves one session until the signal. What the log holds comes back with the next. */
async function serve(place: SidecarPlace, listening: Promise<unknown>[], signal: AbortSignal): Promise<void> {
  const { journal, restored } = openJournal(join(place.dir, "journal"));
  const life = new AgentLife(clock.now(), restored.agent);
  const deps = { clock, time: new MachineTime(clock, presentBoot()), logger, profile, journal, life };
  const unused = { onReceipt: () => {}, onStop: () => {}, versions: () => ({}) };
  const agent = LiveAgent.open({ ...deps, ...unused }, { ...SIZES, ...LOG }, restored);
  const pid = (restored.agent?.pid ?? 1_000) + 1;
  life.found(pid, "bench", clock.now());
  agent.alive({ pid, fresh: true });
  agent.take(Buffer.from(`screen of ${place.id}\r\n`));
  await runTasks(signal, [
    ...[agent.monitor, agent.mailbox, agent.people, agent.events, agent.recorder],
    server(place, agent, listening),
  ]);
  agent.rewriteJournal();
  journal.close();
}

function server({ id, ip, dir }: SidecarPlace, agent: LiveAgent, listening: Promise<unknown>[]): TlsServing {
  const [health, metrics] = [new HealthState(), new Metrics()];
  const routes = (roleRules: readonly RoleRule[], tlsInUse: () => TlsInUse) =>
    sidecarRoutes({
      ...{ clock, agent, roleRules, tlsInUse, provider: "demo", decided: () => {} },
      operator: operatorOf(agent),
      identity: { sessionId: id, project: "shop", address: id },
      typeText: () => Promise.resolve("nothing is typed here"),
    });
  return new TlsServing(
    {
      ...{ clock, logger, health, registry: metrics.registry },
      newServer: (trust, rules, inUse) => {
        const made = new RpcServer(
          { clock, logger, health, metrics },
          {
            ...{ host: ip, port: PORT, ...trust, isOpenToAll, graceMs: 100 },
            hostCheck: { anyHost: true, allowHosts: [] },
            gates: [...trust.gates, roleGate(rules, NEEDED_ROLES)],
            routes: routes(rules, inUse),
          },
        );
        listening.push(made.listening);
        return made;
      },
    },
    { dir: join(dir, "tls"), sessionId: id },
  );
}

function operatorOf(agent: LiveAgent): Operator {
  const { mailbox, output, monitor } = agent;
  const pane = () => undefined;
  const answered = () => monitor.signs.answered();
  return new Operator({ clock, mailbox, source: output, profile, pane, alive: () => agent.isAlive, answered });
}
