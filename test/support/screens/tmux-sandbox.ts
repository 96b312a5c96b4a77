import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { createLogger } from "../../../internal/base/logger.ts";
import { captureFolder } from "../../../internal/tmux/client/capture-folder.ts";
import { controlClients } from "../../../internal/tmux/client/control-connection.ts";
import { TmuxServer } from "../../../internal/tmux/client/server.ts";
import { CommandClient } from "../../../internal/tmux/control/command-client.ts";
import { TmuxPane } from "../../../internal/tmux/pane/pane.ts";
import { pipeLine } from "../../../internal/tmux/pane/pane-commands.ts";
import { serverConfig } from "../../../internal/tmux/pane/server-config.ts";

export interface SandboxOptions {
  /** The pane's command; default `cat`. */
  readonly argv?: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly unsetEnv?: readonly string[];
  readonly cwd?: string;
  readonly session?: string;
  readonly cols?: number;
  readonly rows?: number;
  readonly historyLimit?: number;
  readonly timeoutMs?: number;
}

/** A private tmux server with one pane and an attached client. `await using` ends both and removes the folder. */
export interface TmuxSandbox extends AsyncDisposable {
  /** Private folder: `tmux.sock`, `tmux.conf`, captures; removed at the end. */
  readonly dir: string;
  readonly socketPath: string;
  readonly configPath: string;
  readonly session: string;
  readonly server: TmuxServer;
  /** Settles when the server has ended. */
  readonly serverDone: Promise<void>;
  readonly client: CommandClient;
  readonly pane: TmuxPane;
}

const silentLogger = createLogger("test", "silent");
export const testDeps = { clock: systemClock, logger: silentLogger };

export async function tmuxSandbox(options: SandboxOptions = {}): Promise<TmuxSandbox> {
  const { session = "claude", cols = 80, rows = 24, historyLimit = 20_000 } = options;
  const dir = await mkdtemp(join(tmpdir(), "gt-tmux-"));
  const socketPath = join(dir, "tmux.sock");
  const configPath = join(dir, "tmux.conf");
  const agent = {
    argv: options.argv ?? (["cat"] as const),
    env: options.env ?? {},
    unsetEnv: options.unsetEnv ?? [],
    cwd: options.cwd ?? dir,
  };
  await writeFile(configPath, serverConfig({ session, cols, rows, historyLimit, agent }), { mode: 0o600 });
  const stop = new AbortController();
  const common = { tmuxProgram: "tmux", socketPath, env: process.env };
  const server = new TmuxServer(testDeps, { ...common, configPath });
  const open = controlClients(testDeps, { ...common, session });
  const client = new CommandClient(testDeps, { open, timeoutMs: options.timeoutMs ?? 10_000 });
  const serverDone = server.run(stop.signal);
  const clientStop = new AbortController();
  const clientDone = client.run(clientStop.signal);
  const dispose = async () => {
    clientStop.abort();
    await clientDone;
    stop.abort();
    await Promise.allSettled([serverDone]);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await client.attached(AbortSignal.timeout(30_000));
    const pane = await TmuxPane.find(client, session, captureFolder(dir));
    return { dir, socketPath, configPath, session, server, serverDone, client, pane, [Symbol.asyncDispose]: dispose };
  } catch (err) {
    await dispose();
    throw err;
  }
}

/** From now on the pane's output also goes to the FIFO; an existing pipe is replaced. */
export async function pipeTo({ client, pane }: TmuxSandbox, fifoPath: string): Promise<void> {
  await client.command(pipeLine(pane.id, fifoPath));
}

export async function unpipe({ client, pane }: TmuxSandbox): Promise<void> {
  await client.command(`pipe-pane -t ${pane.id}`);
}
