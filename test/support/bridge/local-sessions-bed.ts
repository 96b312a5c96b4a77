import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect } from "vitest";
import { DomainError } from "../../../internal/base/errors.ts";
import { Redactor } from "../../../internal/base/redact.ts";
import { LocalSessions, type LocalSessionsOptions } from "../../../internal/bridge/local/local-sessions.ts";
import type { StartRequest } from "../../../internal/bridge/session-backend.ts";
import { EventTypeSchema, type SessionEvent, SessionEventSchema } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import type { FrameTarget } from "../../../internal/rpc/server/frames.ts";
import { ScriptedProvider } from "../../fakes/scripted-provider.ts";
import { FakeClock } from "../fake-clock.ts";
import { silentLogger } from "../silent-logger.ts";

export const never = new AbortController().signal;
export const alice = { identity: "prd/alice", role: "operate" } as const;
export const bob = { identity: "prd/bob", role: "nudge" } as const;

export let dir: string;
export let clock: FakeClock;
export let provider: ScriptedProvider;
export let sessions: LocalSessions;
export let stop: AbortController;
export let running: Promise<void>;

function begin(options: Partial<LocalSessionsOptions> = {}): void {
  provider = new ScriptedProvider();
  clock = new FakeClock();
  stop = new AbortController();
  const limits = { maxPerProject: 5, maxGlobal: 8, idleTimeoutMs: 60_000, stopGraceMs: 1000, retentionMs: 5000 };
  sessions = new LocalSessions(
    { clock, logger: silentLogger, redactor: new Redactor(["hunter\\d+"]), providers: [provider] },
    { ...limits, eventBuffer: 1000, eventBytes: 1e7, allowedPaths: [dir], ...options },
  );
  running = sessions.run(stop.signal);
}

/** Makes new `sessions` for each test. Call it once in a file that uses them. */
export function useLocalSessions(): void {
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "gt-sessions-"));
    begin();
  });
  afterEach(async () => {
    stop.abort();
    await clock.until(running);
    expect(clock.sleeping).toBe(0);
    rmSync(dir, { recursive: true });
  });
}

const request = (id = "s1", more: Partial<StartRequest> = {}): StartRequest => ({
  ...{ project: "p1", id, provider: "scripted", repoPath: dir, agentOpts: {} },
  ...more,
});
export const startLocal = (id?: string, more?: Partial<StartRequest>) =>
  sessions.start(request(id, more), alice, never);
export const key = (id = "s1", project = "p1") => ({ project, id });
export const kindOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "ok",
    (err: unknown) => (err instanceof DomainError ? err.kind : err),
  );

/** A subscriber that records its events. */
export function subscriber(): FrameTarget & { readonly events: SessionEvent[] } {
  const events: SessionEvent[] = [];
  return {
    events,
    backlog: 0,
    send: (frame) => void events.push(fromBinary(SessionEventSchema, frame.bytes(false).subarray(5))),
    onDrain: () => {},
  };
}

export async function read(id = "s1"): Promise<readonly SessionEvent[]> {
  const target = subscriber();
  const leave = new AbortController();
  const feed = await sessions.events(key(id), { subscriber: "", epoch: "" }, alice, never);
  const piped = feed.pipe(target, leave.signal).catch(() => {});
  await clock.advance(200);
  leave.abort();
  await piped;
  return target.events;
}

export const types = (events: readonly SessionEvent[]) => events.map(({ type }) => EventTypeSchema.value[type]?.name);
