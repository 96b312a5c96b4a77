import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { aborted } from "../../../internal/base/abort.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import { runTasks } from "../../../internal/base/task-group.ts";
import { Output } from "../../../internal/cli/output.ts";
import type { MainContext } from "../../../internal/cli/run-main.ts";
import { nodeCommand } from "../agent-command.ts";
import { runChild } from "../child-program.ts";
import { nextSteps } from "./next-steps.ts";
import { throwawayTrust } from "./throwaway-trust.ts";
import { bridgeTour, untilServing } from "./tour.ts";
import { tourClient } from "./tour-client.ts";
import { makeTourFolder } from "./tour-folder.ts";

export interface BridgeTourOptions {
  /** The folder of the clone. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  /** End after the tour. */
  readonly once: boolean;
}

/** Long enough for the bridge to stop its sessions first. */
const STOP_MS = 15_000;
const FAVOURITE_PORT = 9445;

/**
 * Runs a bridge with its own CA, certificates and token key, and a session in it, and prints the next steps. All of it
 * is removed at the end.
 */
export async function startBridge(context: MainContext, { root, env, once }: BridgeTourOptions): Promise<number> {
  const { clock, signal, stdout } = context;
  const out = new Output(stdout, context.env);
  const folder = await makeTourFolder();
  try {
    const port = await freePort();
    out.line(printable`making a CA, certificates, a token key and bridge.yaml in ${folder} …`);
    const files = await throwawayTrust(folder, port, clock.now());
    let isGood = false;
    const show = async (stop: AbortSignal) => {
      using caller = tourClient(clock, `https://127.0.0.1:${port}`, files);
      const deps = { clock, out, client: caller.client };
      await untilServing(deps, stop);
      out.line(
        printable`the bridge serves 127.0.0.1:${port}: TLS 1.3, a client certificate and a token for every call`,
      );
      isGood = await bridgeTour(deps, files, stop);
      if (once) return;
      out.line();
      out.line(printable`in another terminal, while this runs (Ctrl-C ends it):`);
      for (const step of nextSteps({ root, home: context.env["HOME"], port }, files)) {
        out.line();
        for (const line of step.split("\n")) out.line(printable`  ${line}`);
      }
      await aborted(stop);
    };
    const command = [...nodeCommand(root, "cmd/bridge/main.ts"), "--config", files.config] as const;
    await runTasks(signal, [
      { run: (stop) => runChild(clock, { name: "the bridge", command, env, stopMs: STOP_MS }, stop) },
      { run: show },
    ]);
    if (!once) return 0;
    out.line();
    out.line(isGood ? out.paint("green", "all as expected") : out.paint("red", "not as expected: no answer came"));
    return isGood ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Port 9445 if it is free, else any free port. */
function freePort(): Promise<number> {
  const tried = (port: number) =>
    new Promise<number | undefined>((resolve) => {
      const probe = createServer().once("error", () => resolve(undefined));
      probe.listen(port, "127.0.0.1", () => {
        const address = probe.address();
        probe.close(() => resolve(typeof address === "object" ? address?.port : undefined));
      });
    });
  return tried(FAVOURITE_PORT).then(async (port) => port ?? (await tried(0)) ?? 0);
}
