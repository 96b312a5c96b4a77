import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { backoffMs } from "../../base/backoff.ts";
import { DomainError, type ErrorKind, errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { quotedText } from "../../base/quoted-text.ts";
import type { Task } from "../../base/task-group.ts";
import { type ChannelEnd, FRAME_TOO_LARGE } from "../links/channel-end.ts";
import { MAX_FRAME_BYTES, StdioChannel, type StdioChannelDeps } from "../links/stdio-channel.ts";
import type { DialCredentials } from "./dial-credentials.ts";
import { keepToken } from "./kept-token.ts";
import { socketOpened } from "./socket-opened.ts";

export interface DialledAgentOptions {
  readonly url: string;
  /** Called for each connection and when a newer token is due. Default: no credentials. */
  readonly credentials?: () => Promise<DialCredentials>;
  /** The command of an ACP agent that speaks stdio: one frame per line. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface DialledAgentDeps extends StdioChannelDeps {
  readonly logger: Logger;
}

/** The longest time until a relay answers for the first time, and the longest handshake. */
const FIRST_MS = 30_000;
const BACKOFF = { firstMs: 100, maxMs: 10_000, factor: 2 };
const SUPERSEDED = 4001;
/** The kinds of error by the HTTP status of a refusal. */
const REFUSALS: ReadonlyMap<number, ErrorKind> = new Map([
  [401, "unauthenticated"],
  [403, "denied"],
]);

/**
 * Runs an agent and carries its frames, unread, to a relay and back. When either end closes, ends the agent's process
 * group, then dials and starts the agent again, with back-off.
 */
export class DialledAgent implements Task {
  readonly #deps: DialledAgentDeps;
  readonly #options: DialledAgentOptions;
  #wasOpen = false;
  /** A relay has answered, also with a refusal. */
  #wasReached = false;

  constructor(deps: DialledAgentDeps, options: DialledAgentOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * @throws DomainError `invalid` if the relay refuses the request permanently, `unauthenticated` or `denied` if it
   * refuses the token; `already-exists` if the agent is superseded; `unavailable` if no relay answers within the first
   * 30 seconds
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const end = clock.monotonicMs() + FIRST_MS;
    for (let failures = 0; !signal.aborted; failures++) {
      const socket = await this.#open(end, signal);
      if (socket !== undefined) {
        failures = 0;
        this.#wasOpen = true;
        const code = await this.#carry(socket, signal);
        if (code === SUPERSEDED)
          throw new DomainError("already-exists", "superseded: this agent is connected elsewhere");
      }
      const waitMs = backoffMs(BACKOFF, failures, Math.random);
      const leftMs = this.#wasReached ? waitMs : Math.max(0, end - clock.monotonicMs());
      await clock.sleep(Math.min(waitMs, leftMs), signal).catch(() => {});
    }
  }

  /** The current credentials; undefined: they cannot be read now, but an earlier connection succeeded. */
  async #credentials(): Promise<DialCredentials | undefined> {
    try {
      return await (this.#options.credentials?.() ?? {});
    } catch (err) {
      if (!this.#wasOpen) throw err;
      this.#deps.logger.warn({ action: "dial_failed", err: errorText(err) }, "certificate or token cannot be used");
      return undefined;
    }
  }

  /**
   * Dials once. Undefined: there is no connection now; another attempt may succeed.
   * @param end the end of the time for a relay's first answer (monotonic)
   */
  async #open(end: number, signal: AbortSignal): Promise<Opened | undefined> {
    const credentials = await this.#credentials();
    if (credentials === undefined || signal.aborted) return undefined;
    const { tls, token } = credentials;
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const bounds = { maxPayload: MAX_FRAME_BYTES, handshakeTimeout: FIRST_MS };
    const socket = new WebSocket(this.#options.url, ["acp.v1"], { ...bounds, headers, ...tls });
    let connectionId = "";
    socket.once("upgrade", (response) => {
      connectionId = String(response.headers["acp-connection-id"]);
    });
    socket.on("error", (err) => {
      this.#deps.logger.warn({ action: "dial_failed", err: err.message }, "the relay cannot be reached");
    });
    const stop = () => socket.terminate();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const refused = await socketOpened(socket).catch((err: unknown) => this.#unreached(err, end, signal));
      if (refused === "unreachable") return undefined;
      this.#wasReached = true;
      return refused === undefined ? { socket, connectionId, token } : await this.#refusal(refused);
    } finally {
      signal.removeEventListener("abort", stop);
      if (socket.readyState !== socket.OPEN) socket.terminate();
    }
  }

  /** @throws DomainError `unavailable` if no relay has answered, and the time for the first answer is over */
  #unreached(cause: unknown, end: number, signal: AbortSignal): "unreachable" {
    if (this.#wasReached || signal.aborted || this.#deps.clock.monotonicMs() < end) return "unreachable";
    throw new DomainError("unavailable", `the relay cannot be reached: ${errorText(cause)}`, { cause });
  }

  /**
   * A 401 is temporary after a connection has succeeded: the token may have a successor.
   * @throws DomainError for a permanent refusal: `unauthenticated` or `denied` for that of a token, else `invalid`
   */
  async #refusal(response: IncomingMessage): Promise<undefined> {
    const { statusCode: status = 0 } = response;
    const reason = reasonOf(await textOf(response));
    this.#deps.logger.warn({ action: "dial_refused", status, reason }, "the relay refuses the connection");
    const isForNow = status >= 500 || status === 409 || status === 429 || (status === 401 && this.#wasOpen);
    if (isForNow) return undefined;
    const why = reason === undefined ? "" : `: ${reason}`;
    throw new DomainError(REFUSALS.get(status) ?? "invalid", `the relay refuses the connection with ${status}${why}`);
  }

  /** Carries frames until either end closes. Returns the close code. */
  async #carry({ socket, connectionId, token }: Opened, signal: AbortSignal): Promise<number> {
    const over = new AbortController();
    socket.once("close", () => over.abort());
    const { url, credentials } = this.#options;
    if (token !== undefined && credentials !== undefined) {
      void keepToken({ ...this.#deps, credentials }, { url, connectionId, token }, over.signal);
    }
    // `once` of node:events would reject for an error before the close.
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    const agent = await this.#start(socket);
    if (agent === undefined) return closed;
    agent.onFrame = (frame) => socket.send(frame);
    socket.on("message", (data) => agent.send(data.toString()));
    socket.resume();
    this.#deps.logger.info({ action: "dialled" }, "the agent is connected");
    const stop = () => socket.close(1001, "the agent is shutting down");
    const onEnd = () => {
      const { code, why } = agent.ended.reason as ChannelEnd;
      socket.close(code === FRAME_TOO_LARGE ? FRAME_TOO_LARGE : 1000, why);
    };
    signal.addEventListener("abort", stop, { once: true });
    agent.ended.addEventListener("abort", onEnd, { once: true });
    if (signal.aborted) stop();
    if (agent.ended.aborted) onEnd();
    try {
      const code = await closed;
      this.#deps.logger.info({ action: "hung_up", code }, "the connection has ended");
      return code;
    } finally {
      signal.removeEventListener("abort", stop);
      agent.close(1001, "the connection has ended");
      await agent.gone;
    }
  }

  /** Starts the agent. Undefined: it cannot be started, and the connection is closed. */
  async #start(socket: WebSocket): Promise<StdioChannel | undefined> {
    const { argv, env, cwd } = this.#options;
    const [program, ...args] = argv;
    try {
      return await StdioChannel.start(this.#deps, { program, args, cwd, env });
    } catch (err) {
      this.#deps.logger.error({ action: "agent_failed", err: errorText(err) }, "the agent cannot be started");
      socket.resume();
      socket.close(1000, "the agent cannot be started");
      return undefined;
    }
  }
}

/** An open connection and the token that opened it. */
interface Opened {
  readonly socket: WebSocket;
  readonly connectionId: string;
  readonly token: string | undefined;
}

const MAX_REFUSAL_BYTES = 4096;

/** Reads the beginning of a body. */
async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // The connection was cut.
  }
  response.destroy();
  return text;
}

/** The message of a refusal; undefined: the body is not the relay's. */
function reasonOf(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === "string" ? quotedText(message.slice(0, 200)) : undefined;
  } catch {
    return undefined;
  }
}
