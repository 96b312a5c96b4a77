// Serves many sidecars in one process, without agents: the service, its log, its journal and its TLS are gt-sidecar's;
// the terminal's output comes from this process. Usage: sidecar-host.ts PLACES.json. SIGUSR2 restarts them all, as if
// their serving halves had ended.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { profileNamed } from "../../internal/agents/programs/registry.ts";
import { controllerRule } from "../../internal/auth/roles.ts";
import { TrustedServer } from "../../internal/auth/serving/trusted-server.ts";
import { identitiesOf } from "../../internal/auth/tls/identities.ts";
import { tlsInUse } from "../../internal/auth/tls/tls-in-use.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { MachineTime } from "../../internal/base/machine-time.ts";
import { presentBoot } from "../../internal/base/present-boot.ts";
import { runTasks } from "../../internal/base/task-group.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { HealthState } from "../../internal/rpc/server/health.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { AgentReports } from "../../internal/sidecar/agent/agent-reports.ts";
import { Operator } from "../../internal/sidecar/agent/operator.ts";
import { openSidecarAgent, type SidecarAgent } from "../../internal/sidecar/agent/sidecar-agent.ts";
import { openJournal } from "../../internal/sidecar/journal/journal-records.ts";
import { sidecarRoutes } from "../../internal/sidecar/serving/server.ts";
import { tlsPlace, tlsRules } from "../../internal/sidecar/serving/serving-rules.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";

/** The address of one sidecar; `dir` holds its `tls` and its journal. */
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

/** Serves one session until the signal. The next call continues from its journal, which has no events in it. */
async function serve(place: SidecarPlace, listening: Promise<unknown>[], signal: AbortSignal): Promise<void> {
  const { journal, restored } = openJournal(join(place.dir, "journal"));
  const deps = {
    clock,
    time: new MachineTime(clock, presentBoot()),
    logger,
    profile,
    journal,
    isAttached: () => false,
  };
  const unused = { nudges: { held: () => {}, ended: () => {} }, onStop: () => {}, versions: () => ({}) };
  const agent = openSidecarAgent({ ...deps, ...unused }, { ...SIZES, ...LOG }, restored);
  const { terminal } = agent;
  const pid = (restored.agent?.pid ?? 1_000) + 1;
  agent.lifecycle.found(pid, "bench", clock.now());
  new AgentReports(agent).alive({ pid, fresh: true });
  terminal.take(Buffer.from(`screen of ${place.id}\r\n`));
  await runTasks(signal, [
    ...[terminal.monitor, agent.messages.mailbox, terminal.people, agent.events, agent.lines, agent.recorder],
    server(place, agent, listening),
  ]);
  agent.journal.rewrite();
  journal.close();
}

function server({ id, ip, dir }: SidecarPlace, agent: SidecarAgent, listening: Promise<unknown>[]): TrustedServer {
  const [health, metrics] = [new HealthState(), new Metrics()];
  const serving: TrustedServer = new TrustedServer(
    { clock, logger, health, metrics },
    {
      listen: { host: ip, port: PORT },
      tls: tlsPlace({ dir: join(dir, "tls"), trust: undefined }, id),
      tokens: undefined,
      services: [SidecarService],
      rules: (tls) => {
        if (tls === undefined) throw new Error("no TLS folder");
        const roleRules = controllerRule(identitiesOf(tls.leaf));
        const routes = sidecarRoutes({
          ...{ clock, agent, roleRules, tlsInUse: () => tlsInUse(serving.tls), provider: "demo", decided: () => {} },
          operator: operatorOf(agent),
          identity: { sessionId: id, project: "shop", address: id },
          typeText: () => Promise.resolve("nothing is typed here"),
        });
        return { ...tlsRules(tls, roleRules, "shop"), routes };
      },
      hostCheck: { anyHost: true, allowHosts: [] },
      graceMs: 100,
    },
  );
  listening.push(serving.listening);
  return serving;
}

function operatorOf(agent: SidecarAgent): Operator {
  const { output, monitor } = agent.terminal;
  const answered = () => monitor.signs.answered();
  return new Operator({
    clock,
    mailbox: agent.messages.mailbox,
    source: output,
    profile,
    paneForCall: agent.pane.forCall,
    alive: () => agent.lifecycle.alive,
    answered,
  });
}
