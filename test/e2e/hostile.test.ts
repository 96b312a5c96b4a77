import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { component, requireComponent } from "../support/cluster/components.ts";
import { Containers, HARDENED, type RunningContainer, untilShown } from "../support/cluster/containers.ts";
import { until } from "../support/sidecar/sidecar.ts";

const LIMIT_MS = 600_000;
/** The full amount; `npm test` uses a twentieth. */
const OUTPUT_MIB = process.env["GT_E2E"] === "full" ? 2048 : 100;

interface Built {
  readonly containers: Containers;
  readonly image: string;
}

/** A program that repeats each line it reads, started after the hostile part. */
const READER = `echo reading; while read -r line; do echo "told: $line"; done`;
/** Runs the script in the program's first life only. */
const once = (script: string): string => `if [ ! -e /workspace/done ]; then touch /workspace/done; ${script}; fi`;

async function start({ containers, image }: Built, script: string): Promise<RunningContainer> {
  const command = ["sh", "-c", `[ -e /workspace/done ] || { echo ready; read -r go; }; ${script}`];
  const args = ["--agent", "generic", "--restart", "always", "--grace", "3s", "--", ...command];
  await using stack = new AsyncDisposableStack();
  const container = stack.use(containers.run(image, { options: HARDENED, args }));
  await container.firstPeek();
  await untilShown(container, /ready/);
  await press(container);
  stack.move(); // it goes to the caller
  return container;
}

/** Sends the key that the program waits for at first. */
async function press(container: RunningContainer): Promise<void> {
  await container.client.sendKeys({ keys: ["Enter"] }).catch(() => {}); // the answering process may be killed by then
}

const statusOf = (container: RunningContainer) => container.client.status({}, { timeoutMs: 10_000 });

/** Calls until it answers; fails with the log. */
function answered<T>(container: RunningContainer, ask: () => Promise<T>): Promise<T> {
  return until("an answer", 60_000, () => ask().catch(() => undefined), container.log);
}

/** Checks that the agent takes a message and receives it. */
async function brings(container: RunningContainer, message: string): Promise<void> {
  const { client } = container;
  const { requestId } = await answered(container, () => client.nudge({ message, timeoutMs: 30_000n }));
  const outcome = await until("the outcome", 60_000, async () => {
    const receipt = await answered(container, () => client.getNudge({ requestId }));
    return receipt.outcome === NudgeOutcome.QUEUED ? undefined : receipt.outcome;
  });
  expect([NudgeOutcome.SUBMITTED, NudgeOutcome.UNKNOWN]).toContain(outcome);
  await untilShown(container, new RegExp(`^told: ${message}$`, "m"));
}

describe("beside an agent that", () => {
  let built: Built | undefined;
  beforeAll(async () => {
    if ("missing" in (await component("containers"))) return;
    const containers = await Containers.here({} as TestContext);
    built = { containers, image: await containers.build("demo") };
  }, LIMIT_MS);

  /** The built image, or a skipped test with a line about the missing program. */
  async function here(context: TestContext): Promise<Built> {
    if (built !== undefined) return built;
    await requireComponent(context, "containers");
    return context.skip("no image");
  }

  it(
    "starts processes up to the limit, the sidecar answers, and delivers messages again afterwards",
    async (context) => {
      const bomb = `i=0; while [ $i -lt 400 ]; do sleep 15 & i=$((i+1)); done 2>/dev/null; ${READER}`;
      await using container = await start(await here(context), `(${bomb}) || { echo full; sleep 16; ${READER}; }`);
      await untilShown(container, /full|reading/);
      for (let i = 0; i < 10; i++) expect((await statusOf(container)).sessionAlive).toBe(true);
      await untilShown(container, /reading/);
      await brings(container, "after the bomb");
    },
    LIMIT_MS,
  );

  it(
    "fills the volume, the sidecar refuses messages that it cannot store, and shows the terminal",
    async (context) => {
      const fill = "dd if=/dev/zero of=/tmp/full bs=1M 2>/dev/null; echo filled; sleep 8; rm /tmp/full";
      await using container = await start(await here(context), `${fill}; ${READER}`);
      await untilShown(container, /filled/);
      await expect(
        container.client.nudge({ message: `lost ${"x".repeat(60_000)}`, mode: NudgeMode.QUEUE }),
      ).rejects.toThrow("cannot be written");
      expect((await statusOf(container)).sessionAlive).toBe(true);
      await untilShown(container, /reading/);
      await brings(container, "after the flood");
      expect((await container.client.peek({})).output).not.toContain("told: lost");
    },
    LIMIT_MS,
  );

  it(
    `prints ${OUTPUT_MIB} MiB, the sidecar keeps answering, and shows the last lines`,
    async (context) => {
      const script = `yes 'all work and no play' | head -c ${OUTPUT_MIB}M; echo; echo the end; ${READER}`;
      await using container = await start(await here(context), script);
      let longestMs = 0;
      const done = untilShown(container, /^the end\s+reading/m, 400_000);
      let isDone = false;
      done.then(
        () => (isDone = true),
        () => (isDone = true),
      );
      while (!isDone) {
        const before = performance.now();
        expect((await statusOf(container)).sessionAlive).toBe(true);
        longestMs = Math.max(longestMs, performance.now() - before);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await done;
      expect(longestMs).toBeLessThan(2000);
      await brings(container, "after the output");
    },
    LIMIT_MS,
  );

  it(
    "kills its parent tmux, the sidecar starts the agent again in a new tmux",
    async (context) => {
      await using container = await start(await here(context), `${once("kill -9 $PPID")}; echo second life; ${READER}`);
      await untilShown(container, /second life/);
      expect(await answered(container, () => statusOf(container))).toMatchObject({ sessionAlive: true, restarts: 1 });
      await brings(container, "to the second life");
    },
    LIMIT_MS,
  );

  it(
    "kills every process that it can, the sidecar restarts, and starts the agent again",
    async (context) => {
      await using container = await start(
        await here(context),
        `${once("kill -9 -1; exit 1")}; echo second life; ${READER}`,
      );
      await untilShown(container, /second life/);
      expect((await answered(container, () => statusOf(container))).sessionAlive).toBe(true);
      await brings(container, "to the second life");
    },
    LIMIT_MS,
  );

  it(
    "suspends every process that it can, the sidecar returns to the same agent",
    async (context) => {
      await using container = await start(await here(context), `${once("echo stopping; kill -STOP -1")}; ${READER}`);
      await untilShown(container, /reading/);
      const { restarts, sessionAlive } = await answered(container, () => statusOf(container));
      expect([restarts, sessionAlive]).toEqual([0, true]);
      await brings(container, "to who was stopped");
    },
    LIMIT_MS,
  );

  it(
    "suspends itself, tmux continues it, and the sidecar delivers messages",
    async (context) => {
      const { containers, image } = await here(context);
      const stopper =
        "while [ ! -s /workspace/taken ]; do sleep 0.1; done; kill -STOP $$; printf '\\0337\\033[1;1Hstopped\\0338'";
      const script = `(${stopper}) & exec gt-demo-agent --log /workspace/taken`;
      const args = ["--grace", "4s", "--linger", "30s", "--", "sh", "-c", script];
      await using container = containers.run(image, { options: HARDENED, args });
      await untilShown(container, /Type a message/);
      await answered(container, () => container.client.nudge({ message: "then stop" }));
      await untilShown(container, /^stopped/m);
      const receipt = await container.client.nudge({ message: "anybody there?", timeoutMs: 30_000n });
      expect(receipt.outcome).toBe(NudgeOutcome.SUBMITTED);
      await untilShown(container, /anybody there\?/);
      expect(await container.client.stopAgent({ graceMs: 4000n })).toMatchObject({ alreadyStopped: false });
    },
    LIMIT_MS,
  );

  it(
    "keeps changing the terminal's size and modes, the sidecar answers, and shows plain text",
    async (context) => {
      const change = [
        "\\033[8;5;20t\\033[8;50;160t\\033[?1049h\\033[?1049l\\033[?7l\\033[?7h\\033[?6h\\033[?6l\\033[3;9r\\033[r",
        "\\033[?2026h\\033[?2004h\\033[?1000h\\033(0\\016x\\017\\033(B\\033#8\\033c\\033]2;t\\007\\033Ptmux;x\\033\\\\",
      ].join("");
      const resize = "tmux -S /tmp/gt-sidecar/tmux.sock resize-window -t =claude: -x $((40+i%90)) -y $((10+i%30))";
      const step = `printf '${change}'; [ $((i%500)) -ne 0 ] || { stty cols 30 rows 9; ${resize}; }; i=$((i+1))`;
      const script = `i=0; while [ $i -lt 10000 ]; do ${step}; done; printf '\\033c'; ${READER}`;
      await using container = await start(await here(context), script);
      for (let i = 0; i < 20; i++) {
        expect((await statusOf(container)).sessionAlive).toBe(true);
        const { output } = await container.client.peek({ lines: 50 });
        expect(output).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
      }
      await untilShown(container, /reading/, 240_000);
      const own = async () => {
        const { cols, rows } = await statusOf(container);
        return (cols === 160 && rows === 50) || undefined;
      };
      await until("the terminal's own size", 30_000, own);
      expect((await statusOf(container)).restarts).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    "reads and deletes the state folder, the sidecar recreates it and keeps the same agent",
    async (context) => {
      const script = `timeout 1 cat /tmp/gt-sidecar/* >/dev/null 2>&1; rm -rf /tmp/gt-sidecar; echo deleted; ${READER}`;
      await using container = await start(await here(context), script);
      await untilShown(container, /deleted/);
      const again = () => /creating it again/.test(container.log()) || undefined;
      await until("the folder to be made again", 30_000, again, container.log);
      // A serving half that has just started does not know the agent yet.
      const status = await until("the agent", 30_000, async () => {
        const now = await answered(container, () => statusOf(container));
        return now.sessionAlive ? now : undefined;
      });
      expect([status.restarts, status.state !== AgentState.DEAD]).toEqual([0, true]);
      await brings(container, "after the deletion");
    },
    LIMIT_MS,
  );
});
