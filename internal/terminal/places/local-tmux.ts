import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import type { Clock } from "../../base/clock.ts";
import { MachineTime } from "../../base/machine-time.ts";
import { presentBoot } from "../../base/present-boot.ts";
import { runtimeFolder } from "../../files/private-folder.ts";
import { systemProcesses } from "../../process/process-alive.ts";
import { probeVersion, usableVersion } from "../../tmux/client/version.ts";
import type { Backend } from "../backend.ts";
import type { Place } from "../finding/resolve-place.ts";
import { TmuxBackend } from "../tmux-backend.ts";
import type { PlaceConfig } from "./place-config.ts";
import { absentIn } from "./program-signs.ts";
import type { TmuxSessions } from "./tmux-sessions.ts";

/**
 * An agent's local tmux session, ready for calls. `server`: the tmux server's answer to an earlier query; without it, a
 * process is started to ask tmux for its version.
 * @throws DomainError `precondition` when tmux is missing or too old.
 */
export async function openLocalTmux(
  place: Place & { type: "tmux" },
  server: TmuxSessions | undefined,
  config: PlaceConfig,
  clock: Clock,
): Promise<Backend> {
  const version = server?.version;
  const pane = server?.onlyPanes.get(place.session);
  const tmuxVersion = version === undefined ? await probeVersion("tmux", config.env) : usableVersion(`tmux ${version}`);
  const { profile: asked } = config;
  const program = { asked, home: config.env["HOME"] ?? homedir() };
  return new TmuxBackend(
    {
      clock,
      time: new MachineTime(clock, presentBoot()),
      logger: async () => (await import("../../base/logger.ts")).createLogger("gt", "silent"),
      processes: systemProcesses,
      absent: (facts, session) => absentIn(facts, session.agent, asked),
      identify: async () => {
        const { localProgram } = await import("./local-program.ts");
        return (facts, session) => localProgram(facts, session.agent, program);
      },
      newId: randomUUID,
      random: Math.random,
    },
    {
      tmuxProgram: "tmux",
      socketPath: place.socketPath,
      session: place.session,
      agent: place.agent,
      folder: runtimeFolder(config),
      env: config.env,
      tmuxVersion,
      pane,
      pid: process.pid,
      uid: config.uid,
    },
  );
}
