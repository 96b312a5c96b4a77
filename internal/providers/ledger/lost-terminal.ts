import { randomUUID } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { DomainError } from "../../base/errors.ts";
import { failing } from "../../bridge/ended-terminal.ts";
import type { LaunchedTerminal, TerminalConfig } from "../../bridge/terminal-launcher.ts";
import { EventType } from "../../gen/gastown/v1/common_pb.ts";
import { SidecarEventSchema } from "../../gen/gastown/v1/sidecar_pb.ts";

const WHY = "the bridge ended during the session, and the agent ended with it";

/**
 * A session whose agent ended with an earlier daemon: its only event says so, and its terminal cannot be reached.
 * @param now wall clock, ms
 */
export function lostTerminal(
  config: Pick<TerminalConfig, "project" | "sessionId" | "provider">,
  now: number,
): LaunchedTerminal {
  const last = lastEvent(config, now);
  const gone = () => new DomainError("unavailable", "the agent ended together with the bridge that started it");
  return {
    terminal: {
      unary: () => Promise.reject(gone()),
      stream: (method) => (method.name === "StreamEvents" ? once(last) : failing(gone)),
      attach: () => failing(gone),
    },
    pid: 0,
    agent: "",
    ended: Promise.resolve({ error: WHY }),
    release: () => {},
    stop: async () => {},
  };
}

function lastEvent({ project, sessionId, provider }: Parameters<typeof lostTerminal>[0], now: number): Uint8Array {
  const event = create(SidecarEventSchema, {
    ...{ seq: 1n, epoch: randomUUID(), timestamp: timestampFromMs(now), stream: "system" },
    ...{ sessionId, projectId: project, provider, type: EventType.SESSION_FAILED, error: WHY, done: true },
  });
  return toBinary(SidecarEventSchema, event);
}

async function* once(message: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield message;
}
