import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { LineReader } from "../../base/text/line-reader.ts";
import {
  type AgentCommand,
  AgentProcess,
  type OutputSink,
  type ProcessEnd,
} from "../../process/children/agent-process.ts";
import { MARK_VARIABLE, type MarkedProcesses } from "../../process/children/marked-processes.ts";
import type { OrphanGuard } from "../../process/children/orphan-guard.ts";
import { ChannelEnd, FRAME_TOO_LARGE } from "./channel-end.ts";
import type { FrameChannel } from "./frame-channel.ts";

export interface StdioChannelDeps {
  readonly clock: Clock;
  /** Ends the agent if this process is killed. */
  readonly guard: Pick<OrphanGuard, "start">;
  /** Ends processes that the agent has started outside its group. */
  readonly marked: Pick<MarkedProcesses, "end">;
  /** Receives the agent's stderr. Default: it is dropped. */
  readonly onStderr?: (chunk: Buffer) => void;
}

/** The longest frame of an agent that speaks stdio. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** The longest time from closing the agent's input to KILL. */
const GRACE_MS = 5000;
const CLOSE = { normal: 1000, cut: 1006 } as const;

/** An agent as a child of this process: one frame per line, on its standard streams. */
export class StdioChannel implements FrameChannel {
  onFrame: (text: string) => void = () => {};
  readonly #process: AgentProcess;
  readonly #ended = new AbortController();
  #end: ChannelEnd | undefined;
  #isHeld = false;
  /** Resolves when no process that the agent has started is running. */
  readonly gone: Promise<void>;

  private constructor(process: AgentProcess, sink: LineSink, endRest: () => Promise<void>, release: () => void) {
    this.#process = process;
    sink.onLine = ({ text, lostBytes }) => {
      if (this.#end !== undefined) return;
      if (lostBytes > 0) return this.close(FRAME_TOO_LARGE, "a frame is too large");
      if (text.trim() !== "") this.onFrame(text);
    };
    sink.onMuted = () => this.close(CLOSE.cut, "the agent has closed its output");
    this.gone = this.#live(endRest).finally(release);
  }

  /**
   * Starts the agent. Set `onFrame` before the next await.
   * @throws DomainError `precondition` for a program that cannot be executed, `unavailable` if the system lacks
   * resources
   */
  static async start(deps: StdioChannelDeps, command: AgentCommand): Promise<StdioChannel> {
    const mark = randomUUID();
    const sink = new LineSink(deps.onStderr ?? (() => {}));
    const marked = { ...command, env: { ...command.env, [MARK_VARIABLE]: mark } };
    const starting = () => AgentProcess.start(deps.clock, marked, sink);
    const { process, release } = await deps.guard.start(mark, starting);
    return new StdioChannel(process, sink, () => deps.marked.end(mark, GRACE_MS), release);
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  get pid(): number {
    return this.#process.pid;
  }

  send(text: string): void {
    if (this.#end !== undefined) return;
    this.#process.write(`${text}\n`).catch(() => this.close(CLOSE.cut, "the agent does not read"));
  }

  hold(isHeld: boolean): void {
    if (this.#end !== undefined || isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#process.hold(isHeld);
  }

  /** Closes the agent's input, then sends TERM, then KILL, all within five seconds. */
  close(code: number, reason: string): void {
    if (this.#end !== undefined) return;
    this.hold(false); // its remaining output is read and dropped
    this.#finish(new ChannelEnd(code, reason));
    this.#process.endInput();
    void this.#process.stop(GRACE_MS);
  }

  /** `endRest`: ends what the agent has started outside its group. */
  async #live(endRest: () => Promise<void>): Promise<void> {
    const end = await this.#process.ended;
    this.#finish(new ChannelEnd(end.code === 0 ? CLOSE.normal : CLOSE.cut, words(end)));
    await this.#process.stop(GRACE_MS);
    await endRest();
  }

  #finish(end: ChannelEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#ended.abort(end);
  }
}

/** Splits an agent's output into lines. */
class LineSink implements OutputSink {
  readonly #lines = new LineReader(MAX_FRAME_BYTES);
  onLine: (line: { readonly text: string; readonly lostBytes: number }) => void = () => {};
  onMuted: () => void = () => {};
  readonly stderr: (chunk: Buffer) => void;

  constructor(onStderr: (chunk: Buffer) => void) {
    this.stderr = onStderr;
  }

  stdout(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) this.onLine(line);
  }

  abandoned(): void {}

  muted(): void {
    this.onMuted();
  }
}

function words({ code, signal }: ProcessEnd): string {
  return signal === undefined ? `the agent ended with ${code ?? 0}` : `the agent was ended by ${signal}`;
}
