import { Code, ConnectError, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { Clock } from "../base/clock.ts";
import { DomainError, type ErrorKind } from "../base/errors.ts";
import { AgentState, DialogKind, EvidenceConfidence, NudgeOutcome } from "../gen/gastown/v1/common_pb.ts";
import { NudgeMode, NudgePriority, SidecarService, UpdateKind, WatchMode } from "../gen/gastown/v1/sidecar_pb.ts";
import { ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.ts";
import { domainErrorOf } from "../rpc/common/errors.ts";
import type { NudgeRequest, WatchRequest } from "../session/types.ts";
import { GRPCSidecarBackend } from "./grpc-sidecar.ts";
import { NudgeInterruptedError } from "./nudge-interrupted-error.ts";

const signal = new AbortController().signal;
const nudge: NudgeRequest = {
  message: "hello",
  requestId: "",
  mode: "wait-idle",
  timeoutMs: 5000,
  sender: "me",
  priority: "normal",
  ttlMs: 0,
};
const screen: WatchRequest = { mode: "screen", lines: 5, intervalMs: 100, ansi: false, epoch: "" };

/** Time passes only by sleeping. */
class FakeClock implements Clock {
  time = 0;
  now = () => this.time;
  monotonicMs = () => this.time;
  sleep = async (ms: number) => {
    this.time += ms;
  };
}

const KINDS = new Map<Code, ErrorKind>([
  [Code.Unavailable, "unavailable"],
  [Code.AlreadyExists, "already-exists"],
  [Code.FailedPrecondition, "precondition"],
]);

function toError(err: unknown): unknown {
  if (!(err instanceof ConnectError)) return err;
  const kind = KINDS.get(err.code) ?? "invalid";
  // The transport of this test drops the cause of a socket's error.
  const cause = err.rawMessage.includes("ECONNREFUSED") ? Object.assign(new Error("x"), { code: "ECONNREFUSED" }) : err;
  return new DomainError(kind, err.rawMessage, { cause });
}

function backend(service: Partial<ServiceImpl<typeof SidecarService>>, meaning = toError): GRPCSidecarBackend {
  const transport = createRouterTransport(({ service: add }) => add(SidecarService, service));
  let ids = 0;
  const deps = {
    transport,
    clock: new FakeClock(),
    newId: () => `id-${++ids}`,
    toError: meaning,
    random: () => 0.5,
    close: () => {},
  };
  return new GRPCSidecarBackend(deps, { where: "127.0.0.1:9090", hint: "start it", reconnectMs: 3000 });
}

function unavailable(message = "socket hang up"): ConnectError {
  return new ConnectError(message, Code.Unavailable);
}

const refused = "connect ECONNREFUSED";

describe("peek and status", () => {
  it("sends the request and reads the answer", async () => {
    const far = backend({
      peek: (request) => ({
        output: `${request.lines} ${request.joinWrapped}`,
        sessionAlive: true,
        cols: 80,
        offset: 7n,
      }),
    });
    const answer = await far.peek({ lines: 3, all: false, ansi: false, joinWrapped: true }, signal);
    expect(answer).toMatchObject({ output: "3 true", alive: true, cols: 80, offset: 7n, truncated: false });
  });

  it("reads a status with its dialog and evidence", async () => {
    const far = backend({
      status: () => ({
        state: AgentState.DIALOG,
        sessionAlive: true,
        lastOutputAt: "2026-11-22T03:00:00.500Z",
        stateSince: { seconds: 10n, nanos: 5_000_000 },
        dialog: { id: "d", kind: DialogKind.PERMISSION, title: "Bash", choices: [{ key: "1", label: "Yes" }] },
        evidence: [{ source: "screen", value: "dialog", ageMs: 3n, confidence: EvidenceConfidence.PROOF }],
      }),
    });
    expect(await far.status(signal)).toMatchObject({
      state: "dialog",
      stateSince: 10_005,
      lastOutputAt: Date.parse("2026-11-22T03:00:00.500Z"),
      dialog: { kind: "permission", choices: [{ key: "1", label: "Yes", selected: false }] },
      evidence: [{ source: "screen", ageMs: 3, confidence: "proof" }],
    });
  });

  it("reads an unknown state as uncertain, and an unknown outcome as unknown", async () => {
    const far = backend({
      status: () => ({ state: 99 as AgentState }),
      nudge: () => ({ outcome: 99 as NudgeOutcome }),
    });
    expect((await far.status(signal)).state).toBe("uncertain");
    expect((await far.nudge(nudge, signal)).outcome).toBe("unknown");
  });

  it("names the address if it cannot be reached", async () => {
    const far = backend({
      status: () => {
        throw unavailable();
      },
    });
    await expect(far.status(signal)).rejects.toMatchObject({
      kind: "unavailable",
      message: "127.0.0.1:9090: socket hang up",
    });
  });
});

describe("nudge", () => {
  it("sends every given field", async () => {
    let seen: unknown;
    const far = backend({
      nudge: (request) => {
        seen = request;
        return {
          outcome: NudgeOutcome.SUBMITTED,
          requestId: request.requestId,
          timings: { typedMs: 4n, confirmedMs: 20n },
        };
      },
    });
    const receipt = await far.nudge({ ...nudge, mode: "queue", priority: "urgent", ttlMs: 9 }, signal);
    expect(seen).toMatchObject({
      message: "hello",
      requestId: "id-1",
      mode: NudgeMode.QUEUE,
      priority: NudgePriority.URGENT,
      ttlMs: 9n,
    });
    expect(receipt).toMatchObject({
      outcome: "submitted",
      requestId: "id-1",
      sender: "me",
      timings: { typedMs: 4, confirmedMs: 20 },
    });
    expect(receipt.timings).not.toHaveProperty("queuedMs");
    expect(receipt).not.toHaveProperty("deliveredText");
  });

  it("sends the same id again if the connection breaks", async () => {
    const ids: string[] = [];
    const far = backend({
      nudge: (request) => {
        ids.push(request.requestId);
        if (ids.length < 4) throw unavailable(ids.length > 1 ? refused : undefined);
        return { outcome: NudgeOutcome.SUBMITTED };
      },
    });
    expect((await far.nudge(nudge, signal)).outcome).toBe("submitted");
    expect(ids).toEqual(["id-1", "id-1", "id-1", "id-1"]);
  });

  it("reports an unknown outcome if the connection stays broken", async () => {
    const far = backend({
      nudge: () => {
        throw unavailable();
      },
    });
    const failed = far.nudge(nudge, signal);
    await expect(failed).rejects.toBeInstanceOf(NudgeInterruptedError);
    await expect(failed).rejects.toMatchObject({ fields: { request_id: "id-1" } });
  });

  it("reports an unknown outcome if the session has ended before it could ask again", async () => {
    const answers = [Code.Unavailable, Code.FailedPrecondition];
    const failing = () => {
      throw new ConnectError("stream closed", answers.shift() ?? Code.Internal);
    };
    await expect(backend({ nudge: failing }).nudge(nudge, signal)).rejects.toBeInstanceOf(NudgeInterruptedError);
    expect(answers).toEqual([]);
  });

  it("does not retry if nothing is listening, or if the request is wrong", async () => {
    let asked = 0;
    const gone = backend({
      nudge: () => {
        asked++;
        throw unavailable(refused);
      },
    });
    await expect(gone.nudge(nudge, signal)).rejects.toMatchObject({ kind: "unavailable" });
    const wrong = backend({
      nudge: () => {
        asked++;
        throw new ConnectError("used with another message", Code.AlreadyExists);
      },
    });
    await expect(wrong.nudge(nudge, signal)).rejects.toMatchObject({ kind: "already-exists" });
    const detail = { desc: ErrorInfoSchema, value: { reason: "unavailable", domain: "gastown" } };
    const stopping = backend({
      nudge: () => {
        asked++;
        throw new ConnectError("the sidecar is stopping", Code.Unavailable, undefined, [detail]);
      },
    });
    await expect(stopping.nudge(nudge, signal)).rejects.toThrow("the sidecar is stopping");
    expect(asked).toBe(3);
  });

  it("is refused at once by another program, and of unknown outcome if a proxy fails", async () => {
    const answering = (answer: string, code = Code.Unknown) => {
      const nudged = () => {
        throw new ConnectError(answer, code);
      };
      return backend({ nudge: nudged }, domainErrorOf).nudge(nudge, signal);
    };
    for (const answer of ["unsupported content type text/html", "HTTP 405"]) {
      const failed = answering(answer);
      await expect(failed).rejects.toMatchObject({ kind: "unavailable", fields: { hint: "start it" } });
      await expect(failed).rejects.toThrow(`127.0.0.1:9090: does not speak Connect: ${answer}`);
      await expect(failed).rejects.not.toBeInstanceOf(NudgeInterruptedError);
    }
    const other = answering("unknown service gastown.v1.SidecarService", Code.Unimplemented);
    await expect(other).rejects.toThrow("127.0.0.1:9090: does not serve this API: unknown service");
    await expect(other).rejects.not.toBeInstanceOf(NudgeInterruptedError);
    await expect(answering("HTTP 500")).rejects.toBeInstanceOf(NudgeInterruptedError);
  });
});

describe("watch", () => {
  it("yields updates until the end", async () => {
    const far = backend({
      async *watchOutput(request) {
        yield {
          kind: UpdateKind.SNAPSHOT,
          output: `${request.mode === WatchMode.SCREEN}`,
          timestamp: "2026-11-22T03:00:00Z",
        };
        yield { kind: UpdateKind.CHANGE, gap: { first: 1n, to: 5n, reason: 1 } };
        yield { kind: UpdateKind.END, endReason: "agent ended" };
        yield { kind: UpdateKind.CHANGE };
      },
    });
    const updates = await Array.fromAsync(far.watch(screen, signal));
    expect(updates.map((one) => one.kind)).toEqual(["snapshot", "change", "end"]);
    expect(updates[0]).toMatchObject({ output: "true", timestamp: Date.parse("2026-11-22T03:00:00Z") });
    expect(updates[1]?.gap).toEqual({ first: 1n, to: 5n, reason: "slow-reader" });
    expect(updates[2]?.endReason).toBe("agent ended");
  });

  it("ends the call when the loop is left", async () => {
    const ended = Promise.withResolvers<void>();
    const far = backend({
      async *watchOutput(_, context) {
        context.signal.addEventListener("abort", () => ended.resolve());
        yield { kind: UpdateKind.SNAPSHOT };
        await ended.promise;
      },
    });
    for await (const _ of far.watch(screen, signal)) break;
    await ended.promise;
  });

  it("fails if the stream ends without a reason", async () => {
    const far = backend({
      async *watchOutput() {
        yield { kind: UpdateKind.SNAPSHOT };
      },
    });
    await expect(Array.fromAsync(far.watch(screen, signal))).rejects.toMatchObject({ kind: "unavailable" });
  });

  it("throws the caller's reason if it is aborted", async () => {
    const stop = new AbortController();
    const far = backend({
      async *watchOutput(_, context) {
        yield { kind: UpdateKind.SNAPSHOT };
        stop.abort(new Error("enough"));
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      },
    });
    await expect(Array.fromAsync(far.watch(screen, stop.signal))).rejects.toThrow("enough");
  });
});
