import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { comparable } from "../../../internal/agents/safe-text.ts";
import type { Clock } from "../../../internal/base/clock.ts";
import { createLogger } from "../../../internal/base/logger.ts";
import { MachineTime } from "../../../internal/base/machine-time.ts";
import { presentBoot } from "../../../internal/base/present-boot.ts";
import { runtimeFolder } from "../../../internal/files/private-folder.ts";
import { systemProcesses } from "../../../internal/process/process-alive.ts";
import type { Backend } from "../../../internal/terminal/backend.ts";
import type { Place } from "../../../internal/terminal/finding/resolve-place.ts";
import { TmuxBackend } from "../../../internal/terminal/local.ts";
import { probeVersion } from "../../../internal/tmux/client/version.ts";
import { localProgram } from "./local-program.ts";
import type { PlaceConfig } from "./place-config.ts";

/** An agent's local tmux session, ready to talk to. @throws DomainError `precondition` when tmux is missing or too old. */
export async function openLocalTmux(
  place: Place & { type: "tmux" },
  config: PlaceConfig,
  clock: Clock,
): Promise<Backend> {
  const version = await probeVersion("tmux", config.env);
  const program = { asked: config.profile, home: config.env["HOME"] ?? homedir() };
  return new TmuxBackend(
    {
      clock,
      time: new MachineTime(clock, presentBoot()),
      logger: createLogger("gt", "silent"),
      processes: systemProcesses,
      identify: (facts, session) => localProgram(facts, session.agent, program),
      newId: randomUUID,
      random: Math.random,
      sameText: (a, b) => comparable(a) === comparable(b),
    },
    {
      tmuxProgram: "tmux",
      socketPath: place.socketPath,
      session: place.session,
      agent: place.agent,
      folder: runtimeFolder(config),
      env: config.env,
      tmuxVersion: version.text,
      pid: process.pid,
      uid: config.uid,
    },
  );
}
