import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import type { BeadDeps } from "../../beads/bead.ts";
import { ANNOTATIONS, LABELS } from "../pods/names.ts";
import { observePod } from "../pods/observed-pod.ts";
import type { SessionPodListener } from "../pods/session-pods.ts";
import { projectOf, type SessionRecord, sessionRecord } from "../pods/session-record.ts";
import { BeadWriter } from "./bead-writer.ts";

const BINDING = { name: "agents", project: "shop", templates: new Map(), credentials: "secret" } as const;

interface PodFacts {
  readonly bead?: string;
  readonly ip?: string;
  readonly stopped?: boolean;
  readonly createdAt?: string;
  readonly project?: string;
}

function record(
  id: string,
  { bead = "gt-1", ip = "10.0.0.1", stopped = false, createdAt, project = "shop" }: PodFacts = {},
): SessionRecord {
  const pod = observePod({
    metadata: {
      name: id,
      namespace: "agents",
      uid: id,
      creationTimestamp: createdAt ?? "2026-01-01T00:00:00Z",
      labels: { [LABELS.agent]: id, [LABELS.bead]: bead, [LABELS.managedBy]: "gastown" },
      annotations: { [ANNOTATIONS.sessionId]: id, ...(stopped && { [ANNOTATIONS.stoppedAt]: "2026-01-01T01:00:00Z" }) },
    },
    status: { podIP: ip, phase: "Running" },
  });
  const made = sessionRecord(pod, { ...BINDING, project });
  if (made === undefined) throw new Error("no session");
  return made;
}

describe("beads of sessions in pods", () => {
  let clock: FakeClock;
  let beads: Map<string, Record<string, string>>;
  let calls: string[][];
  let isDown: boolean;
  /** Calls of `bd` for these beads hang until `release`. */
  let hung: RegExp | undefined;
  let release: () => void;
  let released: Promise<void>;
  let leads: boolean;
  let pods: Map<string, SessionRecord>;
  let listeners: Set<SessionPodListener>;
  let life: AbortController;
  let running: Promise<void>;

  /** Behaves like `bd show` and `bd update`. */
  const run: BeadDeps["run"] = async (program, args) => {
    calls.push([program, ...args]);
    if (hung?.test(args[2] ?? "")) await released;
    if (isDown) return { type: "exit", code: 3, stdout: "", stderr: "database is locked" };
    const [, verb, id = "", ...flags] = args;
    const metadata = beads.get(id);
    if (metadata === undefined) return { type: "exit", code: 1, stdout: "", stderr: `no issue found matching "${id}"` };
    for (let i = 0; verb === "update" && i < flags.length; i += 2) {
      const [key = "", value = ""] = flags[i + 1]?.split("=") ?? [];
      if (flags[i] === "--set-metadata") metadata[key] = value;
      else delete metadata[key];
    }
    return { type: "exit", code: 0, stdout: JSON.stringify([{ id, metadata }]), stderr: "" };
  };
  const tell = async (type: "changed" | "gone", each: SessionRecord) => {
    if (type === "gone") pods.delete(each.key.id);
    else pods.set(each.key.id, each);
    for (const listener of listeners) listener({ type, record: each });
    await settle();
  };

  beforeEach(async () => {
    clock = new FakeClock();
    [beads, calls, isDown, leads] = [new Map([["gt-1", { team: "platform" }]]), [], false, true];
    [pods, listeners, life] = [new Map(), new Set(), new AbortController()];
    hung = undefined;
    ({ promise: released, resolve: release } = Promise.withResolvers<void>());
    const known = {
      all: () => pods.values() as Generator<SessionRecord>,
      listen: (listener: SessionPodListener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      sharesOf: (workers: number) => ({ of: projectOf, workersOfOne: workers / 2 }),
    };
    const bd = { run, command: ["/opt/bd", "--quiet"], env: {}, cwd: "/", timeoutMs: 1_000 };
    const assertMayWrite = () => {
      if (!leads) throw new DomainError("precondition", "not the leader");
    };
    running = new BeadWriter({ clock, logger: silentLogger, pods: known, bd, assertMayWrite }).run(life.signal);
    await settle();
  });
  afterEach(async () => {
    life.abort();
    release();
    await running.catch(() => {});
  });

  const PLACE = { backend: "k8s", sidecar_host: "10.0.0.1", sidecar_port: "9090", sidecar_session: "one" };

  it("get the sidecar's address once, as soon as the pod has one, and lose it when the session has ended", async () => {
    await tell("changed", record("one", { ip: "" }));
    expect(beads.get("gt-1")).toEqual({ team: "platform" });
    await tell("changed", record("one"));
    expect(beads.get("gt-1")).toEqual({ team: "platform", ...PLACE });
    expect(calls.at(-1)?.slice(0, 4)).toEqual(["/opt/bd", "--quiet", "update", "gt-1"]);
    const written = calls.length;
    await tell("changed", record("one"));
    expect(calls).toHaveLength(written);
    await tell("changed", record("one", { stopped: true }));
    expect(beads.get("gt-1")).toEqual({ team: "platform" });
  });

  it("are cleared when the pod is deleted, unless they name another session by then", async () => {
    await tell("changed", record("one"));
    await tell("gone", record("one"));
    expect(beads.get("gt-1")).toEqual({ team: "platform" });
    await tell("changed", record("two"));
    beads.set("gt-1", { ...PLACE, sidecar_session: "elsewhere" });
    await tell("gone", record("two"));
    expect(beads.get("gt-1")).toEqual({ ...PLACE, sidecar_session: "elsewhere" });
  });

  it("name the newest of several sessions, and the older one again after the newest has ended", async () => {
    await tell("changed", record("one"));
    const young = { ip: "10.0.0.2", createdAt: "2026-01-02T00:00:00Z" };
    await tell("changed", record("two", young));
    expect(beads.get("gt-1")).toMatchObject({ sidecar_session: "two", sidecar_host: "10.0.0.2" });
    await tell("changed", record("two", { ...young, stopped: true }));
    expect(beads.get("gt-1")).toMatchObject({ sidecar_session: "one", sidecar_host: "10.0.0.1" });
  });

  it("keep their session while another project starts one for the same bead", async () => {
    await tell("changed", record("one"));
    const theirs = { ip: "10.0.0.9", createdAt: "2026-01-02T00:00:00Z", project: "desk" };
    await tell("changed", record("theirs", theirs));
    expect(beads.get("gt-1")).toMatchObject({ sidecar_session: "one" });
    await tell("changed", record("next", { ip: "10.0.0.2", createdAt: "2026-01-03T00:00:00Z" }));
    expect(beads.get("gt-1")).toMatchObject({ sidecar_session: "next" });
  });

  it("of one project do not delay those of another, however many there are and however long bd takes for them", async () => {
    hung = /^shop-/;
    for (let i = 0; i < 50; i++) await tell("changed", record(`shop-${i}`, { bead: `shop-${i}` }));
    await tell("changed", record("theirs", { ip: "10.0.0.9", project: "desk" }));
    expect(beads.get("gt-1")).toMatchObject({ sidecar_session: "theirs", sidecar_host: "10.0.0.9" });
    expect(calls.filter(([, , , bead]) => bead?.startsWith("shop-"))).toHaveLength(2);
  });

  it("that two projects name are written by one call at a time, and the last call writes for the project that keeps them", async () => {
    hung = /^gt-1$/;
    await tell("changed", record("one"));
    await tell("changed", record("theirs", { ip: "10.0.0.9", createdAt: "2026-01-02T00:00:00Z", project: "desk" }));
    await tell("gone", record("one"));
    expect(calls).toHaveLength(1);
    release();
    await settle();
    await clock.advance(1_000);
    await settle();
    expect(beads.get("gt-1")).toMatchObject({ sidecar_session: "theirs", sidecar_host: "10.0.0.9" });
  });

  it("are not written by a suspended leader that wakes while another one leads", async () => {
    await tell("changed", record("one"));
    beads.set("gt-1", { ...PLACE, sidecar_host: "10.0.0.9" });
    leads = false;
    await tell("changed", record("one", { ip: "10.0.0.2" }));
    await tell("gone", record("one"));
    expect(beads.get("gt-1")).toEqual({ ...PLACE, sidecar_host: "10.0.0.9" });
  });

  it("are written later if bd fails, and no label becomes a flag of bd", async () => {
    isDown = true;
    await tell("changed", record("one"));
    await tell("changed", record("two", { bead: "--help" }));
    expect(calls.flat()).not.toContain("--help");
    isDown = false;
    await clock.advance(60_000);
    await settle();
    expect(beads.get("gt-1")).toMatchObject({ sidecar_session: "one" });
  });
});
