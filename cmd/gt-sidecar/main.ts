import { createLogger } from "../../internal/base/logger.ts";
import { Redactor } from "../../internal/base/redact.ts";
import { runProgram } from "../../internal/cli/command/run-program.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { removeTree } from "../../internal/files/remove-tree.ts";
import { asRefusal, startRefusal } from "../../internal/sidecar/halves/start-refusal.ts";
import { HEAP_FLAGS } from "../../internal/sidecar/supervisor/serving-processes.ts";
import { readConfig, type SidecarConfig, serveArgs } from "./config.ts";
import { gtSidecar } from "./program.ts";
import { signalsFor } from "./signals.ts";
import { endsWith, STANDBY, waitForGo } from "./standby.ts";
import { tellTermination } from "./termination-message.ts";
import { missingForTools } from "./threads-flags.ts";

const isFirst = process.pid === 1;
const isStandby = process.argv[2] === STANDBY;
const signals = signalsFor({ isFirst, hasTerminal: process.stdin.isTTY === true, isStandby });
/** The exit code of a serving half that a supervising half started says whether a restart can help. */
const exits = { exitCodes: { "not-found": 127 }, exitCodeOf: isStandby ? startRefusal : undefined };

// Each half loads only its own code: they start one after the other.
await runMain({ name: "gt-sidecar", ...exits, signals }, async (context) => {
  if (!isStandby) return await runProgram(gtSidecar(start), context);
  await import("./serve.ts"); // what takes time is done before it is needed
  return (await waitForGo(context.stdin)) ? await start(context.argv.slice(1), context) : 0;
});

type Context = Pick<MainContext, "env" | "stdin" | "signal" | "clock">;

async function start(argv: readonly string[], context: Context): Promise<number> {
  const config = asRefusal(() => readConfig(argv, context.env));
  try {
    return await run(config, context);
  } finally {
    if (config.ownStateDir) removeTree(config.sidecar.stateDir, 10);
  }
}

async function run(config: SidecarConfig, { stdin, signal, clock }: Context): Promise<number> {
  const { half, sidecar, graceMs } = config;
  const redactor = new Redactor(sidecar.redactPatterns);
  const redact = (text: string) => redactor.redact(text);
  const logger = createLogger(half === "both" ? "gt-sidecar" : `gt-sidecar-${half}`, config.logLevel, { redact });
  if (half === "serve") {
    const { serve } = await import("./serve.ts");
    return serve(config, { logger, clock, signal: isStandby ? endsWith(stdin, signal) : signal, isApart: !isStandby });
  }
  const missing = sidecar.threads && missingForTools(sidecar.threads);
  if (missing !== undefined) logger.warn(missing, "the agent has no threads tools until their files exist");
  const program = {
    program: process.execPath,
    args: [...process.execArgv, ...HEAP_FLAGS, process.argv[1] ?? "", STANDBY, ...(await serveArgs(config))],
  };
  const { SupervisingHalf } = await import("../../internal/sidecar/supervisor/supervising-half.ts");
  const supervising = new SupervisingHalf(
    { clock, logger, uid: process.getuid?.() ?? 0 },
    { sidecar, graceMs, serve: half === "both" ? program : undefined },
  );
  logger.debug({ state_dir: sidecar.stateDir, session: sidecar.identity.sessionId, agent: sidecar.agent }, "starting");
  if (isFirst) {
    const { asFirstProcess } = await import("../../internal/process/first-process.ts");
    await asFirstProcess({ clock, logger }, () => supervising.run(signal));
    await tellTermination(signal);
  } else await supervising.run(signal);
  logger[supervising.endLevel]({ exit_code: supervising.exitCode }, "ended");
  return supervising.exitCode;
}
