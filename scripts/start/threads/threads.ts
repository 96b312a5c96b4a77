import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { aborted } from "../../../internal/base/abort.ts";
import { asObjects, asText, type Json } from "../../../internal/base/json-fields.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import { runTasks, type Task } from "../../../internal/base/task-group.ts";
import { Output } from "../../../internal/cli/output.ts";
import type { MainContext } from "../../../internal/cli/run-main.ts";
import { localServer } from "../../../internal/threads/client/local-server.ts";
import { printMessage, printWake } from "../../../internal/threads/client/show.ts";
import { findThreads, ThreadsClient } from "../../../internal/threads/client/threads-client.ts";
import { nodeCommand } from "../agent-command.ts";
import { withStartedAgent } from "../agent-session.ts";
import { runChild } from "../child-program.ts";
import { freeAddress } from "../free-address.ts";
import { shellPath } from "../gt-commands.ts";

export interface ThreadsTourOptions {
  /** The folder of the clone. */
  readonly root: string;
  /** The environment, with tmux on its PATH. */
  readonly env: NodeJS.ProcessEnv;
  /** End after the first conversation. */
  readonly once: boolean;
}

const START_MS = 90_000;
const TALK_MS = 180_000;
const LOOK_MS = 200;
const SIZE = { cols: 100, rows: 30 };

interface Tour extends ThreadsTourOptions {
  readonly context: MainContext;
  readonly out: Output;
  readonly stateDir: string;
}

/**
 * Runs threads with its own PostgreSQL, and two demo agents that review and fix as scripted; each is woken when a
 * message waits for it. All of it is removed at the end.
 */
export async function startThreads(context: MainContext, options: ThreadsTourOptions): Promise<number> {
  const out = new Output(context.stdout, context.env);
  // As root we run PostgreSQL as another user, which must reach its folder.
  const folder = await mkdtemp("/tmp/gt-threads-");
  await chmod(folder, 0o711);
  const stateDir = join(folder, "state");
  const env = {
    ...options.env,
    GT_THREADS_STATE_DIR: stateDir,
    GT_THREADS: undefined,
    GT_THREADS_TOKEN_FILE: undefined,
  };
  const tour: Tour = { ...options, env, context, out, stateDir };
  let code = 1;
  const serving: Task = {
    run: (stop) => {
      const ports = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--log-level", "warn"];
      const command = [...nodeCommand(options.root, "cmd/threads/main.ts"), "serve", ...ports] as const;
      return runChild(context.clock, { command, env, name: "threads" }, stop);
    },
  };
  const showing: Task = {
    run: async (stop) => {
      code = await withAgents(tour, stop);
    },
  };
  try {
    out.line(printable`starting threads with a PostgreSQL of its own in ${stateDir} …`);
    await runTasks(context.signal, [serving, showing]);
    return code;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function withAgents(tour: Tour, signal: AbortSignal): Promise<number> {
  const { context, out, stateDir } = tour;
  const { clock } = context;
  await until(tour, START_MS, () => localServer(stateDir) !== undefined, signal);
  out.line(printable`threads serves ${localServer(stateDir)?.url ?? ""}: a token for every call`);
  return await withDemoAgent(tour, "review", signal, (reviewer, stop) =>
    withDemoAgent(tour, "fix", stop, async (fixer, all) => {
      const place = findThreads({ GT_THREADS_STATE_DIR: stateDir }, clock, {});
      using client = new ThreadsClient(place);
      const call: Call = (name, input) => client.call(name, input, all);
      const isGood = await conversation(tour, { call, reviewer, fixer }, all);
      if (tour.once) return isGood ? 0 : 1;
      printJoin(tour, reviewer);
      await aborted(all);
      return 0;
    }),
  );
}

type Call = (name: string, input: object) => Promise<Json>;

/** Runs a demo agent in a sidecar. The agent has its own token, which is renewed meanwhile. */
async function withDemoAgent(
  { root, env, context, stateDir }: Tour,
  part: "review" | "fix",
  signal: AbortSignal,
  use: (address: string, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const role = part === "review" ? "reviewer" : "fixer";
  const address = await freeAddress(`demo/${role}`, env["XDG_RUNTIME_DIR"]);
  const file = join(stateDir, "keys", `${role}.token`);
  const command = [...nodeCommand(root, "cmd/demo-agent/main.ts"), "--turn-ms", "1200", "--threads", part] as const;
  const url = localServer(stateDir)?.url ?? "";
  const options = {
    ...{ root, agent: "demo", address, workdir: "/tmp", ...SIZE },
    command: command as unknown as readonly [string, ...string[]],
    env: { ...env, GT_THREADS: url, GT_THREADS_TOKEN_FILE: file },
  };
  const nothing = () => {};
  return await withStartedAgent(context.clock, options, nothing, signal, async (_agent, all) => {
    let code = 1;
    const flags = ["--agent", address, "--role", role, "--file", file] as const;
    const minting = [...nodeCommand(root, "cmd/threads/main.ts"), "token", ...flags] as const;
    await runTasks(all, [
      { run: (stop) => runChild(context.clock, { command: minting, env, name: "threads token" }, stop) },
      {
        run: async (stop) => {
          code = await use(address, stop);
        },
      },
    ]);
    return code;
  });
}

/**
 * Lets the agents do a review, a fix and a second review without anyone copying text. True if the conversation was
 * completed.
 */
async function conversation(
  tour: Tour,
  { call, reviewer, fixer }: { readonly call: Call; readonly reviewer: string; readonly fixer: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { out } = tour;
  const participants = [
    { agent_id: reviewer, role: "reviewer" },
    { agent_id: fixer, role: "fixer" },
  ];
  const made = await call("create_thread", { title: "review of the cart", participants });
  const thread_id = asText((made["thread"] as Json)["thread_id"]);
  out.line();
  out.line(out.paint("bold", printable`── ${thread_id} "review of the cart": ${reviewer} and ${fixer}`));
  await call("post_message", { thread_id, text: "please review src/cart.ts", to_role: ["reviewer"] });
  let shown = 0;
  const isOver = async () => {
    const messages = asObjects((await call("read_messages", { thread_id, after_seq: shown, limit: 200 }))["messages"]);
    for (const message of messages) {
      printMessage(out, message);
      shown = Number(message["seq"]);
    }
    return messages.some((one) => one["event_type"] === "resolved");
  };
  const came = await until(tour, TALK_MS, isOver, signal).catch(() => false);
  out.line();
  out.line(out.paint("bold", "── wakes, by the receipts of the sidecars"));
  const wakes = asObjects((await call("list_wakes", { thread_id }))["wakes"]).toReversed();
  for (const wake of wakes) printWake(out, wake);
  const good = came !== false && wakes.some((one) => one["outcome"] === "submitted");
  out.line();
  out.line(good ? out.paint("green", "all as expected") : out.paint("red", "not as expected: see above"));
  return good;
}

function printJoin({ root, context, out, stateDir }: Tour, reviewer: string): void {
  const gt = shellPath(join(root, "cmd/gt/gt"), context.env["HOME"]);
  out.line();
  out.line(printable`join in from another terminal, while this runs (Ctrl-C ends it):`);
  out.line(printable`  export GT_THREADS_STATE_DIR=${stateDir}`);
  out.line(printable`  ${gt} threads ls`);
  out.line(printable`  ${gt} threads new "another one" --with ${reviewer}:reviewer`);
  out.line(printable`  ${gt} threads post t-… "please review this" --role reviewer --wait`);
}

async function until(
  { context: { clock } }: Tour,
  ms: number,
  look: () => boolean | Promise<boolean>,
  signal: AbortSignal,
): Promise<true> {
  const end = clock.monotonicMs() + ms;
  while (!(await look())) {
    if (clock.monotonicMs() > end) throw new Error(`it took longer than ${ms / 1000} s`);
    await clock.sleep(LOOK_MS, signal);
  }
  return true;
}
