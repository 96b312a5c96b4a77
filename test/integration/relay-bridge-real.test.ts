import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ModelServer } from "../fakes/model-server.ts";
import { agentInHome } from "../support/agents/agent-in-home.ts";
import type { AgentProgram } from "../support/agents/agents-install.ts";
import type { BridgeFolder } from "../support/bridge/bridge-folder.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { BridgeBed, task } from "../support/relay/bridge-bed.ts";
import type { Stored } from "../support/relay/relay-bed.ts";
import type { RelayProcess } from "../support/relay/relay-process.ts";
import { until } from "../support/sidecar/sidecar.ts";

/**
 * `points`: the steps of a turn after which a relay is killed, a new relay for each. No step depends on the agent's
 * program: relay-bridge-kills tests all of them with a scripted agent; here each is tested with one of two programs.
 */
const AGENTS = [
  {
    kind: "claude",
    program: "claude-2.1.330",
    args: ["--permission-mode", "default"],
    points: ["pulled", "asked", "published", "acked"],
  },
  { kind: "codex", program: "codex-0.169.0", args: [], points: ["prompted", "answered", "done"] },
] as const satisfies readonly { readonly program: AgentProgram; readonly [key: string]: unknown }[];

const PATIENCE_MS = 300_000;
const TIMES = { timeout: 4 * PATIENCE_MS };

let model: ModelServer;
let bed: BridgeBed;
const workdirs = new Map<string, string>();

async function providers(folder: BridgeFolder): Promise<object> {
  const found = AGENTS.map(async ({ kind, program, args }) => {
    const { binary, workdir } = await agentInHome(folder.path("repos", kind), kind, program, model.url);
    workdirs.set(kind, workdir);
    return [kind, { binary, args }] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

beforeAll(async () => {
  model = await ModelServer.listen({ wordDelayMs: 20 });
  bed = await BridgeBed.create(async (folder) => ({ providers: await providers(folder) }));
}, TIMES.timeout);
afterAll(async () => {
  await bed?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
});

/** How many requests to the model had this text as their prompt, and how often its conversation contains the text. */
const arrivals = (mark: string) => [
  model.requests.filter((each) => each.withTools && !each.afterTool && each.lastUserText.includes(mark)).length,
  model.arrivalsOfOne(mark),
];

describe.concurrent.each(AGENTS)("$program in a terminal of a bridge", ({ kind, points }) => {
  const relay = (name: string, env: Readonly<Record<string, string>> = {}): Promise<RelayProcess> => {
    const role = bed.role({ provider: kind, repo_path: workdirs.get(kind) });
    return bed.relay(`${kind}-${name}`, { [kind]: role }, {}, { env });
  };
  const work = (id: string, text: string) => bed.coordinator.work("real", task(id, text, kind), { role: kind });
  const answers = (count: number) => bed.answers("real", count, kind);
  const isAsked = (mark: string) =>
    until("the model to be asked", PATIENCE_MS, () => (arrivals(mark)[0] === 1 ? true : undefined));
  const says = (id: string, text: string) => expect.stringMatching(new RegExp(`^${id} success: [\\s\\S]*${text}`));

  const asked = (count: number) => bed.approval("real", count, kind);
  const grant = (request: Stored) => bed.decide("real", request, "granted");

  it("gets each prompt once and its dialog answered, whenever the relay is killed", TIMES, async (context) => {
    await requireComponent(context, kind);
    for (const [index, point] of points.entries()) {
      await using doomed = await relay(point, { GT_RELAY_CRASH_AT: point });
      await work(`p${index}`, `SAY ${kind}-at-${point}`);
      await doomed.exited();
      expect([point, doomed.child.signalCode]).toEqual([point, "SIGKILL"]);
    }
    const first = await relay("first");
    expect(await answers(points.length)).toEqual(
      points.map((point, index) => says(`p${index}`, `${kind}-at-${point}`)),
    );
    for (const point of points) expect([point, ...arrivals(`${kind}-at-${point}`)]).toEqual([point, 1, 1]);

    // The relay is killed while the dialog is open: the next one requests approval again.
    await work("tool", `RUN-TOOL echo ${kind}-tool > made.txt`);
    expect((await asked(1)).body["payload"]).toMatchObject({ work_id: "tool", role: kind });
    await first[Symbol.asyncDispose]();
    await using second = await relay("second");
    await grant(await asked(2));
    expect((await answers(points.length + 1)).at(-1)).toEqual(says("tool", "Done with the tool\\."));
    expect((await readFile(join(workdirs.get(kind) ?? "", "made.txt"), "utf8")).trim()).toBe(`${kind}-tool`);
    expect(arrivals(`${kind}-tool`)).toEqual([1, 1]);

    // The relay is killed while the agent is in the middle of its answer.
    await work("talk", `${kind}-talk TALK 200`);
    await isAsked(`${kind}-talk`);
    await second[Symbol.asyncDispose]();
    await using third = await relay("third");
    expect((await answers(points.length + 2)).at(-1)).toEqual(says("talk", "word200"));
    expect(arrivals(`${kind}-talk`)).toEqual([1, 1]);
    expect(await third.stop()).toBe(0);
    expect((await bed.running()).length).toBeLessThanOrEqual(AGENTS.length);
  });
});
