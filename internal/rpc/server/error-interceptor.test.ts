import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../base/errors.ts";
import { createLogger } from "../../base/logger.ts";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { domainErrorOf } from "../common/errors.ts";
import { errorInterceptor } from "./error-interceptor.ts";

/** Errors that unary and streaming callers get if a handler throws `thrown`, and what is logged. */
async function answersTo(thrown: (signal: AbortSignal) => unknown, timeoutMs?: number) {
  const log: string[] = [];
  const logger = createLogger("test", "info", { destination: { write: (line) => void log.push(line) } });
  const transport = createRouterTransport(
    (router) =>
      router.service(SidecarService, {
        async peek(_request, { signal }) {
          throw await thrown(signal);
        },
        async *watchOutput(_request, { signal }) {
          yield { output: "first" };
          throw await thrown(signal);
        },
      }),
    { router: { interceptors: [errorInterceptor(logger)] } },
  );
  const client = createClient(SidecarService, transport);
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  const unary = await client.peek({}, options).catch((err: unknown) => err);
  const stream = await drain(client.watchOutput({}, options)).catch((err: unknown) => err);
  return { answers: [unary, stream], log };
}

async function drain(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

describe("an error thrown by a handler", () => {
  it("keeps its kind and fields if it is a domain error", async () => {
    const { answers, log } = await answersTo(
      () => new DomainError("exhausted", "the queue is full", { fields: { limit: 50 } }),
    );
    for (const answer of answers)
      expect(domainErrorOf(answer)).toMatchObject({ kind: "exhausted", fields: { limit: "50" } });
    expect(log).toEqual([]);
  });

  it("passes unchanged if it already has a code", async () => {
    const { answers, log } = await answersTo(() => new ConnectError("later", Code.Aborted));
    for (const answer of answers) expect(answer).toMatchObject({ code: Code.Aborted, rawMessage: "later" });
    expect(log).toEqual([]);
  });

  it.each([new Error("secret"), "secret", undefined, new DOMException("secret", "AbortError")])(
    "is a bug otherwise: logged with the method, and answered without its text (%s)",
    async (bug) => {
      const { answers, log } = await answersTo(() => bug);
      for (const answer of answers) expect(answer).toMatchObject({ code: Code.Internal, rawMessage: "internal error" });
      expect(log).toHaveLength(2);
      expect(log[0]).toContain("gastown.v1.SidecarService/Peek");
    },
  );

  it.each<[string, (signal: AbortSignal) => unknown]>([
    ["the signal's reason", (signal) => signal.reason],
    ["an AbortError for that reason", () => new DOMException("aborted", "AbortError")],
  ])("counts as the end of an aborted call, not as a bug, if it is %s", async (_what, thrown) => {
    const whenAborted = async (signal: AbortSignal) => {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return thrown(signal);
    };
    const { answers, log } = await answersTo(whenAborted, 20);
    for (const answer of answers) expect(answer).toMatchObject({ code: Code.DeadlineExceeded });
    expect(log).toEqual([]);
  });
});
