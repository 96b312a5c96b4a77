import { ProtocolError, Server } from "@modelcontextprotocol/server";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { errorBody, type OperationCalls } from "./calls.ts";
import type { Proof } from "./claims.ts";
import { LISTED_TOOLS, toolNamed } from "./tools.ts";

export interface McpServerDeps {
  readonly calls: OperationCalls;
  readonly logger: Logger;
  readonly version: string;
  readonly proof: Proof;
  /** Whether the client's era of the protocol has `subscriptions/listen`. */
  readonly canSubscribe: boolean;
  readonly correlationId: (traceparent: unknown) => string;
}

const INVALID_PARAMS = -32602;
/** A thread as a resource; the first group is its id. */
export const THREAD_URI = /^thread:\/\/([A-Za-z0-9_-]{1,64})$/;
const INBOX = "inbox://me";

const INSTRUCTIONS =
  "Threads with other agents and people. A line that begins with [threads …] in your terminal says that messages " +
  "wait: read them with read_messages, answer with post_message, and acknowledge with ack_read or ack_seq.";

/** The tools and resources of one caller, for one request or stream. */
export function mcpServer(deps: McpServerDeps): Server {
  const { version, canSubscribe: subscribe } = deps;
  const server = new Server(
    { name: "threads", version },
    { capabilities: { tools: {}, resources: { subscribe } }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", () => ({ tools: [...LISTED_TOOLS] as never }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = toolNamed(params.name);
    if (tool === undefined) throw new ProtocolError(INVALID_PARAMS, `unknown tool ${JSON.stringify(params.name)}`);
    const id = deps.correlationId(mcpReq._meta?.["traceparent"]);
    try {
      const result = await deps.calls.call(tool, deps.proof, id, params.arguments ?? {}, mcpReq.signal);
      return { content: [{ type: "text" as const, text: JSON.stringify(result) }], structuredContent: { ...result } };
    } catch (err) {
      if (mcpReq.signal.aborted) throw err;
      if (!(err instanceof DomainError)) deps.logger.error({ err, tool: tool.name }, "a call failed");
      const body = errorBody(err);
      const content = [{ type: "text" as const, text: JSON.stringify(body) }];
      return { isError: true, content, _meta: { "gastown.io/error": body.error } };
    }
  });
  server.setRequestHandler("resources/list", () => ({
    resources: [{ uri: INBOX, name: "inbox", mimeType: "application/json", description: "your unread messages" }],
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [
      {
        uriTemplate: "thread://{id}",
        name: "thread",
        mimeType: "application/json",
        description: "a digest and the last 20",
      },
    ],
  }));
  server.setRequestHandler("resources/read", async ({ params }, { mcpReq }) => {
    const contents = await resource(deps, params.uri, mcpReq.signal);
    return { contents: [{ uri: params.uri, mimeType: "application/json", text: JSON.stringify(contents) }] };
  });
  return server;
}

async function resource(deps: McpServerDeps, uri: string, signal: AbortSignal): Promise<unknown> {
  const id = deps.correlationId(undefined);
  const run = (name: string, input: object) => {
    const tool = toolNamed(name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return deps.calls.call(tool, deps.proof, id, input, signal) as Promise<Record<string, unknown>>;
  };
  const threadId = THREAD_URI.exec(uri)?.[1];
  try {
    if (uri === INBOX) return await run("list_threads", { unread_only: true });
    if (threadId === undefined)
      throw new ProtocolError(INVALID_PARAMS, `unknown resource ${JSON.stringify(uri.slice(0, 200))}`, { uri });
    const thread = (await run("get_thread", { thread_id: threadId })) as { thread: { last_seq: number } };
    const digest = await run("summarize_thread", { thread_id: threadId });
    const messages = await run("search_messages", { thread_id: threadId, limit: 20 });
    return { ...thread, digest: digest["text"], last_messages: (messages["hits"] as unknown[]).toReversed() };
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    throw new ProtocolError(INVALID_PARAMS, err.message, { ...errorBody(err).error, uri });
  }
}
