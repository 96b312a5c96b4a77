import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { version } from "../../internal/cli/version.ts";
import { logWarnings, openLogger, redactorWith } from "../../internal/daemon/daemon-tools.ts";
import { openTracer } from "../../internal/tracing/open-tracer.ts";
import { checkTrust } from "./check-trust.ts";
import type { ServeCommand } from "./config.ts";
import { Daemon } from "./daemon.ts";
import { openSettings } from "./settings.ts";

/** Serves until the signal. Returns 0 if the relay has drained, 7 if turns were handed back at the drain's deadline. */
export async function serve(command: ServeCommand, { clock, env, signal }: CommandContext): Promise<number> {
  const { settings, findings } = openSettings(command);
  await checkTrust(settings.trust, findings, clock.now());
  findings.assertUsable();
  const { logLevel: level, logging, otlpEndpoint: endpoint } = settings;
  const redactor = redactorWith(logging.redact_patterns);
  const logger = openLogger(redactor, { name: "relay", component: "relay", level, format: logging.format });
  logWarnings(findings, logger);
  await using tracer = await openTracer({ clock, logger }, { name: "relay", version }, { endpoint, env });
  const daemon = new Daemon({ clock, logger, env, tracer }, settings);
  await daemon.run(signal);
  logger.info({ action: "ended", handed_back: daemon.handedBack }, "ended");
  return daemon.handedBack > 0 ? 7 : 0;
}
