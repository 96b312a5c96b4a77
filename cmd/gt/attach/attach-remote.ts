import { backoffMs } from "../../../internal/base/backoff.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { FullScreen } from "../../../internal/cli/full-screen.ts";
import { terminalSize } from "../../../internal/cli/terminal-size.ts";
import { ATTACH_COLS, ATTACH_ROWS, type AttachOutput } from "../../../internal/session/attach.ts";
import type { FoundAgent } from "../../../internal/terminal/places/with-agent.ts";
import { AttachInputs } from "./attach-inputs.ts";
import type { AttachOptions } from "./attach-options.ts";
import { ENTER, LEAVE } from "./attach-painter.ts";
import { PersonKeys } from "./attach-person-keys.ts";
import { AttachView } from "./attach-view.ts";

const RETRY = { firstMs: 100, maxMs: 2000, factor: 1.6 };
/** How long an incomplete key sequence waits for the rest. */
const CUT_MS = 20;
/** The time for a clean end before the connection is cut. */
const LEAVE_MS = 1000;

const STDOUT_FD = 1;

/** The reason why an attachment is over. */
type Ending =
  | { readonly type: "left" }
  | { readonly type: "ended"; readonly reason: string; readonly exitCode: number };

/**
 * A person's attachment to an agent behind a sidecar. The first attempt to connect must succeed. After that, a
 * connection that breaks is opened again until the person leaves; keys typed meanwhile are dropped.
 */
export class AttachRemote {
  readonly #found: FoundAgent;
  readonly #command: AttachOptions;
  readonly #context: CommandContext;
  readonly #keys: PersonKeys;
  /** Aborted when the person has pressed the detach keys, or their terminal is gone. */
  readonly #left = new AbortController();
  /** Aborted when all parts of the attachment must end. */
  readonly #over = new AbortController();
  readonly #view: AttachView;
  #terminal: FullScreen | undefined;
  #inputs: AttachInputs | undefined;

  constructor(found: FoundAgent, command: AttachOptions, context: CommandContext) {
    this.#found = found;
    this.#command = command;
    this.#context = context;
    this.#keys = new PersonKeys(command.detachKeys);
    this.#view = new AttachView(context.clock, context.stdout, this.#over.signal);
  }

  /** @throws DomainError if the first connection fails, or if the sidecar refuses to attach */
  async run(): Promise<number> {
    const { stdin, stdout, note } = this.#context;
    const onData = (data: Buffer) => this.#typed(data);
    const onGone = () => this.#left.abort();
    const onResize = () => this.#terminal !== undefined && this.#resized();
    stdin.on("data", onData).on("end", onGone).pause();
    stdin.on("error", onGone); // stays: without a listener an error ends the process
    stdout.on("resize", onResize);
    let ending: Ending;
    try {
      ending = await this.#keepAttached();
    } finally {
      this.#over.abort(new DomainError("cancelled", "the attachment has ended"));
      stdin.off("data", onData).off("end", onGone);
      stdout.off("resize", onResize);
      this.#terminal?.[Symbol.dispose]();
    }
    note(endText(this.#found.agent, ending));
    return 0;
  }

  async #keepAttached(): Promise<Ending> {
    const { signal, clock } = this.#context;
    const stop = AbortSignal.any([signal, this.#left.signal]);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attachOnce(() => {
          attempt = 0;
        });
      } catch (err) {
        signal.throwIfAborted();
        if (this.#left.signal.aborted) return { type: "left" };
        if (this.#terminal === undefined || !isPassing(err)) throw err;
      }
      this.#inputs = undefined;
      this.#view.hold(`connection lost, reconnecting … ${this.#command.detachKeys.text} detaches`);
      await clock.sleep(backoffMs(RETRY, attempt, Math.random), stop).catch(() => {});
      signal.throwIfAborted();
      if (this.#left.signal.aborted) return { type: "left" };
    }
  }

  async #attachOnce(onConnected: () => void): Promise<Ending> {
    const { readOnly, name } = this.#command;
    const { signal, clock } = this.#context;
    const cut = new AbortController();
    const call = AbortSignal.any([signal, cut.signal, this.#over.signal]);
    const inputs = new AttachInputs(call);
    this.#left.signal.addEventListener("abort", () => {
      inputs.end();
      clock.sleep(this.#inputs === inputs ? LEAVE_MS : 0, call).then(
        () => cut.abort(),
        () => {},
      );
    });
    const outputs = this.#found.backend.attach({ ...this.#size(), readOnly, name }, inputs, call);
    for await (const output of outputs) {
      if (this.#inputs !== inputs) {
        this.#inputs = inputs;
        onConnected();
        this.#enter();
      }
      if (output.type === "end") return output.reason === "detached" ? { type: "left" } : { ...output, type: "ended" };
      await this.#show(output);
    }
    throw new DomainError("unavailable", "the stream ended without a reason");
  }

  /** Takes the person's terminal after the first connection; later, says that the connection is back. */
  #enter(): void {
    this.#view.hold(undefined);
    if (this.#terminal !== undefined) {
      this.#view.notice("reconnected");
      return;
    }
    const { readOnly, detachKeys } = this.#command;
    const { stdin } = this.#context;
    const hooks = { onAway: () => this.#view.away(), onBack: () => this.#resized() };
    this.#terminal = new FullScreen({ stdin, outputFd: STDOUT_FD }, { enter: ENTER, leave: LEAVE }, hooks);
    stdin.resume();
    const how = readOnly ? "looking at" : "attached to";
    this.#view.notice(`${how} ${this.#found.agent}${readOnly ? ", read-only" : ""} · ${detachKeys.text} detaches`);
  }

  async #show(output: Exclude<AttachOutput, { readonly type: "end" }>): Promise<void> {
    switch (output.type) {
      case "data":
        return await this.#view.data(output.data);
      case "resized":
        return this.#view.resized(output.cols, output.rows);
      case "notice":
        return this.#view.notice(output.text);
    }
  }

  #resized(): void {
    this.#inputs?.push({ type: "resize", ...this.#size() });
    this.#view.redraw();
  }

  #typed(data: Buffer): void {
    const { data: keys, detach } = this.#keys.push(data, this.#view.keyView);
    this.#send(keys);
    if (detach) this.#left.abort();
    if (!this.#keys.isHolding) return;
    const { clock } = this.#context;
    clock.sleep(CUT_MS, this.#over.signal).then(
      () => this.#send(this.#keys.flush()),
      () => {},
    );
  }

  #send(data: Buffer): void {
    if (data.length === 0 || this.#left.signal.aborted) return;
    if (this.#command.readOnly) this.#view.notice("read-only: your keys are not sent");
    else if (this.#inputs?.push({ type: "data", data }) === false)
      this.#view.notice("keys were dropped: too many are waiting");
    this.#view.expectEcho();
  }

  #size(): { readonly cols: number; readonly rows: number } {
    const { columns, rows } = terminalSize(this.#context.stdout);
    return { cols: within(columns, ATTACH_COLS), rows: within(rows, ATTACH_ROWS) };
  }
}

function within(value: number, { min, max }: { readonly min: number; readonly max: number }): number {
  return Math.min(Math.max(value, min), max);
}

/** True if the sidecar, or the connection to it, may be back in a moment. */
function isPassing(err: unknown): boolean {
  return (
    err instanceof DomainError && (err.kind === "unavailable" || err.kind === "deadline" || err.kind === "cancelled")
  );
}

function endText(agent: string, ending: Ending): string {
  if (ending.type === "left") return `detached from ${agent}`;
  const code = ending.exitCode === 0 ? "" : ` (exit code ${ending.exitCode})`;
  return `${agent}: ${ending.reason}${code}`;
}
