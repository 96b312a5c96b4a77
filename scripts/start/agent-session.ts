import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { raceSignal, withTimeout } from "../../internal/base/abort.ts";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import { makeTemporaryFolder, parentOfSockets } from "../../internal/files/temporary-folder.ts";
import type { Backend } from "../../internal/terminal/backend.ts";
import { nodeCommand } from "./agent-command.ts";
import { runChild } from "./child-program.ts";
import { connect } from "./connect.ts";
import { readLogLine, type SidecarNews } from "./sidecar-log.ts";

export interface AgentSessionOptions {
  /** The folder of the clone. */
  readonly root: string;
  readonly agent: string;
  readonly command: readonly [string, ...string[]];
  readonly address: string;
  readonly workdir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cols: number;
  readonly rows: number;
}

export interface RunningAgent {
  readonly backend: Backend;
  /** `host:port` of the sidecar. */
  readonly listen: string;
  readonly address: string;
  /** Milliseconds from the start of the sidecar to its first answer. */
  readonly startMs: number;
}

const FAVOURITE_PORT = 9090;
const START_MS = 120_000;
/** The time after SIGTERM in which a sidecar ends its agent and tmux. */
const STOP_MS = 8000;
const FIRST_SCREEN_MS = 5000;
const LOOK_AGAIN_MS = 40;

type Use = (agent: RunningAgent, signal: AbortSignal) => Promise<number>;

/**
 * Starts a sidecar with an agent, passes the running agent to `use`, and ends both when `use` resolves or rejects. If
 * the sidecar ends first, aborts the signal of `use`. Leaves neither processes nor files behind.
 */
export async function withStartedAgent(
  clock: Clock,
  options: AgentSessionOptions,
  onNews: (news: SidecarNews) => void,
  signal: AbortSignal,
  use: Use,
): Promise<number> {
  const port = await choosePort();
  let isUsed = false;
  const used: Use = (agent, stop) => {
    isUsed = true;
    return use(agent, stop);
  };
  try {
    return await withSidecar(clock, { ...options, port }, onNews, signal, used);
  } catch (err) {
    // Another program may have taken the port since it was checked.
    if (isUsed || port === 0 || !errorText(err).includes("EADDRINUSE")) throw err;
    return withSidecar(clock, { ...options, port: 0 }, onNews, signal, use);
  }
}

async function withSidecar(
  clock: Clock,
  options: AgentSessionOptions & { readonly port: number },
  onNews: (news: SidecarNews) => void,
  signal: AbortSignal,
  use: Use,
): Promise<number> {
  const stateDir = await makeTemporaryFolder("gt-start-", parentOfSockets("gt-start-XXXXXX/control.sock"));
  const stop = new AbortController();
  const all = AbortSignal.any([signal, stop.signal]);
  const serving = Promise.withResolvers<string>();
  const onLine = (line: string) => {
    const news = readLogLine(line);
    if (news?.type === "serving") serving.resolve(news.listen);
    if (news !== undefined) onNews(news);
  };
  const command = sidecarArgv(options, stateDir, options.port);
  const launch = {
    name: "the sidecar",
    command,
    env: options.env,
    cwd: options.workdir,
    mayEnd: true,
    stopMs: STOP_MS,
  };
  const began = clock.monotonicMs();
  const sidecar = runChild(clock, { ...launch, onLine, reasonIn }, all);
  const ended = new DomainError("cancelled", "the sidecar ended");
  const ending = sidecar.finally(() => stop.abort(ended));
  ending.catch(() => {});
  try {
    const waited = withTimeout(clock, START_MS, "the start of the sidecar", serving.promise);
    const listen = await raceSignal(waited, all);
    await using backend = connect(listen, clock);
    await firstScreen(backend, clock, all);
    const startMs = clock.monotonicMs() - began;
    return await use({ backend, listen, address: options.address, startMs }, all);
  } catch (err) {
    // The sidecar's own error says more than the calls that failed because of it.
    if (!stop.signal.aborted) throw err;
    await ending;
    throw new DomainError("unavailable", "the sidecar ended");
  } finally {
    stop.abort();
    await ending.catch(() => {});
    await rm(stateDir, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Waits until the agent has started, but at most 5 s: a slow agent is shown while it starts. */
async function firstScreen(backend: Backend, clock: Clock, signal: AbortSignal): Promise<void> {
  const deadline = clock.monotonicMs() + FIRST_SCREEN_MS;
  while (clock.monotonicMs() < deadline) {
    try {
      if ((await backend.status(signal)).state !== "starting") return;
    } catch (err) {
      if (!(err instanceof DomainError) || err.kind !== "unavailable") throw err;
    }
    await clock.sleep(LOOK_AGAIN_MS, signal);
  }
}

function sidecarArgv(options: AgentSessionOptions, stateDir: string, port: number): readonly [string, ...string[]] {
  return [
    ...nodeCommand(options.root, "cmd/gt-sidecar/main.ts"),
    ...["--listen", `127.0.0.1:${port}`, "--health-listen", "127.0.0.1:0", "--state-dir", stateDir],
    ...["--agent", options.agent, "--address", options.address, "--workdir", options.workdir],
    ...["--cols", String(options.cols), "--rows", String(options.rows), "--restart", "never", "--grace", "2s"],
    // The last screen of an agent explains its end; the sidecar lingers until we have read it.
    ...["--linger", "24h"],
    "--",
    ...options.command,
  ];
}

/** Port 9090 if it is free, else any free port. */
function choosePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(0));
    probe.listen(FAVOURITE_PORT, "127.0.0.1", () => probe.close(() => resolve(FAVOURITE_PORT)));
  });
}

/** The text of the failure that a line of the sidecar's log reports; undefined if it reports none. */
function reasonIn(line: string): string | undefined {
  const news = readLogLine(line);
  return news?.type === "failure" ? news.text : undefined;
}
