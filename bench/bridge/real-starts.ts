import { ModelServer } from "../../test/fakes/model-server.ts";
import { agentInHome } from "../../test/support/agents/agent-in-home.ts";
import type { AgentKind } from "../../test/support/agents/agents-home.ts";
import type { AgentProgram } from "../../test/support/agents/agents-install.ts";
import { BridgeFolder } from "../../test/support/bridge/bridge-folder.ts";
import type { BenchContext } from "../context.ts";
import type { Measured } from "../report/row.ts";
import { measureFirstEvent } from "./first-event.ts";

const PROGRAMS: readonly (readonly [AgentKind, AgentProgram])[] = [
  ["claude", "claude-2.1.330"],
  ["codex", "codex-0.169.0"],
  ["opencode", "opencode-1.18.33"],
];

/** Measures the time to the first event of a session of each real program; the model is on loopback. */
export async function measureRealStarts({ quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  await using model = await ModelServer.listen();
  await using folder = await BridgeFolder.create();
  const agents = await Promise.all(
    PROGRAMS.map(async ([kind, program]) => {
      const place = await agentInHome(folder.path("repos", kind), kind, program, model.url);
      return { kind, ...place };
    }),
  );
  await using bridge = await folder.start({
    providers: Object.fromEntries(agents.map(({ kind, binary }) => [kind, { binary, startup_timeout: "60s" }])),
    sessions: { stop_grace_period: "3s", max_per_project: 50, max_global: 50 },
  });
  const rows: Measured[] = [];
  for (const { kind, workdir } of agents) {
    say(`bridge: start to first event, ${kind}`);
    rows.push(...(await measureFirstEvent({ folder, bridge, rounds: quick ? 1 : 5, signal }, kind, workdir)));
  }
  return rows;
}
