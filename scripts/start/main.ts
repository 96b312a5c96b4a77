import { join, resolve } from "node:path";
import { printable } from "../../internal/base/printable-text.ts";
import { Output } from "../../internal/cli/output.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { terminalSize } from "../../internal/cli/terminal-size.ts";
import { version } from "../../internal/cli/version.ts";
import { agentCommand } from "./agent-command.ts";
import { type RunningAgent, withStartedAgent } from "./agent-session.ts";
import { readStartConfig, START_HELP } from "./config.ts";
import { freeAddress } from "./free-address.ts";
import { gtCommands, shellPath } from "./gt-commands.ts";
import { followInLines } from "./lines.ts";
import { Live } from "./live.ts";
import { runOnce } from "./once.ts";
import { plainEnvironment } from "./plain-environment.ts";
import type { SidecarNews } from "./sidecar-log.ts";
import { pathWithTmux } from "./tmux.ts";
import { screenSize } from "./view.ts";
import { whileTerminal } from "./while-terminal.ts";
import { Window } from "./window.ts";

const root = resolve(import.meta.dirname, "../..");

await runMain({ name: "start", exitCodes: { unavailable: 4 } }, async (context) => {
  const { argv, env, stdout, clock, signal } = context;
  const config = readStartConfig(argv, env);
  const out = new Output(stdout, env);
  if (config.ask !== undefined) {
    stdout.write(config.ask === "help" ? START_HELP : `start ${version}\n`);
    return 0;
  }
  const plain = plainEnvironment(env, root);
  const tour = (start: (context: MainContext) => Promise<number>) =>
    whileTerminal(clock, signal, (stop) => start({ ...context, signal: stop }));
  // Loads a tour only on request: its imports would take longer than all of the rest.
  if (config.bridge) {
    const { startBridge } = await import("./bridge/bridge.ts");
    return tour((at) => startBridge(at, { root, env: plain, once: config.once }));
  }
  if (config.relay) {
    const { startRelay } = await import("./relay/relay.ts");
    return tour((at) => startRelay(at, { root, env: plain, once: config.once }));
  }
  const command = agentCommand(config.agent, root, plain["PATH"] ?? "");
  const path = await pathWithTmux(root, plain);
  if (typeof path === "number") return path;
  if (config.threads) {
    const { startThreads } = await import("./threads/threads.ts");
    return tour((at) => startThreads(at, { root, env: { ...plain, PATH: path }, once: config.once }));
  }
  const live = !config.once && out.redraws && context.stdin.isTTY === true;
  const { columns, rows } = terminalSize(stdout);
  const size = live ? screenSize(columns, rows) : { cols: 100, rows: 30 };
  const address = await freeAddress(config.agent, env["XDG_RUNTIME_DIR"]);
  const workdir = config.workdir ?? process.cwd();
  out.line(printable`starting a sidecar with ${config.agent === "demo" ? "the demo agent" : "Claude Code"} …`);
  const listeners: ((news: SidecarNews) => void)[] = [];
  const options = { root, agent: config.agent, command, address, workdir, env: { ...plain, PATH: path }, ...size };
  const onNews = (news: SidecarNews) => {
    for (const listener of listeners) listener(news);
  };
  return withStartedAgent(clock, options, onNews, signal, async (agent, stop) => {
    if (config.once) return runOnce(clock, out, agent, stop);
    const commands = gtCommands(shellPath(join(root, "cmd/gt/gt"), env["HOME"]), address);
    if (!live) return followInLines(clock, out, agent, commands, stop);
    await showLive(context, agent, { colour: out.colour, commands }, (listener) => listeners.push(listener), stop);
    return 0;
  });
});

async function showLive(
  { stdin, stdout, clock }: MainContext,
  agent: RunningAgent,
  options: { readonly colour: boolean; readonly commands: ReturnType<typeof gtCommands> },
  listen: (listener: (news: SidecarNews) => void) => void,
  signal: AbortSignal,
): Promise<void> {
  const quit = new AbortController();
  const stop = AbortSignal.any([signal, quit.signal]);
  let live: Live | undefined;
  using window = new Window(stdin, stdout, { quit: () => quit.abort(), redraw: () => live?.draw() });
  live = new Live(clock, agent, window, options);
  listen((news) => {
    if (news.type === "nudge-ended") void live?.nudgeEnded(news.requestId, stop);
  });
  await live.run(stop);
  if (!quit.signal.aborted) signal.throwIfAborted();
}
