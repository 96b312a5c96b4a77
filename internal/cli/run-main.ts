import { type Clock, systemClock } from "../base/clock.ts";
import { codeOf, DomainError, type ErrorKind } from "../base/errors.ts";
import { oneLine, plainText } from "../base/sanitise.ts";
import { checkArgumentBytes } from "./argument-bytes.ts";

/**
 * The reason for which a program was asked to stop. `SIGPIPE` stands for a reader of stdout that has closed.
 * @internal
 */
export class StoppedBySignal extends Error {
  readonly stopSignal: StopSignal;

  constructor(stopSignal: StopSignal) {
    super(`stopped by ${stopSignal}`);
    this.name = "StoppedBySignal";
    this.stopSignal = stopSignal;
  }
}

/** Stdout cannot be written although its reader is there: a full disk, a terminal that is gone. */
class OutputFailure extends Error {}

const FOLDER_GONE = "the current folder has been removed";

/** The bits of a umask that deny the owner's own use. */
const OWNER_BITS = 0o700;

/** How long a program may take to end gracefully once its output has failed. */
const UNWIND_MS = 20_000;

/** @internal */
export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGQUIT" | "SIGPIPE";

const STOP_SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
const SIGNAL_NUMBERS: Readonly<Record<StopSignal, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGPIPE: 13,
  SIGTERM: 15,
};

/** Signals that stop a program, and signals that are ignored although Node or the system would act on them. */
export interface Signals {
  readonly stop: readonly StopSignal[];
  readonly ignore: readonly NodeJS.Signals[];
}

export interface MainContext {
  /** Arguments without the program. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Aborted by SIGINT, SIGTERM, SIGHUP (or what `signals` says) or a closed stdout, with a `StoppedBySignal`. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Returns the exit code. */
export type Main = (context: MainContext) => Promise<number>;

export interface RunMainOptions {
  /** The beginning of every error line. */
  readonly name: string;
  /** Exit codes of domain errors; without an entry `invalid` is 2 and everything else 1. */
  readonly exitCodes?: Partial<Readonly<Record<ErrorKind, number>>>;
  /** Takes precedence over `exitCodes`; undefined: `exitCodes` applies. */
  readonly exitCodeOf?: ((err: DomainError) => number | undefined) | undefined;
  /** Default: SIGINT, SIGTERM and SIGHUP stop it, nothing is ignored. */
  readonly signals?: Signals;
}

/** The part of `process` that an entry point uses. */
export interface Host {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  on(event: string, listener: (argument: unknown) => void): unknown;
  off(event: string, listener: (argument: unknown) => void): unknown;
  exit(code: number): void;
  /** Sets the umask; returns the one before. */
  umask(mask: number): number;
}

/**
 * Runs a program to its end and exits with its exit code: the one place that handles signals and exit codes. The first
 * signal to stop aborts `context.signal`; a second SIGINT exits at once with 130. A DomainError becomes its `lines` and
 * one `NAME: error: …` line (and a `NAME: hint: …` line when it has a `hint` field); anything else that is thrown is a
 * bug, shown with its stack, exit code 1. The program and its children can use every file that they make: the umask
 * keeps only its bits for the group and others.
 */
export async function runMain(options: RunMainOptions, main: Main, host: Host = process as Host): Promise<void> {
  host.umask(host.umask(OWNER_BITS | 0o077) & ~OWNER_BITS);
  const stop = new AbortController();
  const ended = new AbortController();
  let interrupts = 0;
  const onSignal = (name: unknown) => {
    if (name === "SIGINT" && ++interrupts > 1) host.exit(130);
    stop.abort(new StoppedBySignal(name as StopSignal));
  };
  const onStdoutError = (err: NodeJS.ErrnoException) => {
    if (err.code === "EPIPE") return stop.abort(new StoppedBySignal("SIGPIPE"));
    if (!host.stdout.destroyed) host.stdout.destroy();
    if (stop.signal.reason instanceof OutputFailure) return;
    host.stderr.write(`${options.name}: error: cannot write to stdout: ${oneLine(err.message)}\n`);
    // Abort first: the program must end what it has started.
    stop.abort(new OutputFailure("stdout cannot be written"));
    void systemClock.sleep(UNWIND_MS, ended.signal).then(
      () => host.exit(1),
      () => {},
    );
  };
  const onBug = (err: unknown) => {
    host.stderr.write(describeBug(options.name, err));
    host.exit(1);
  };
  const { stop: stopSignals, ignore } = options.signals ?? { stop: STOP_SIGNALS, ignore: [] };
  for (const name of stopSignals) host.on(name, onSignal);
  for (const name of ignore) host.on(name, doNothing);
  host.on("uncaughtException", onBug);
  host.on("unhandledRejection", onBug);
  host.stdout.on("error", onStdoutError);
  host.stderr.on("error", doNothing); // there is no other place to say so
  const { argv, env, stdout, stderr } = host;
  const context = {
    ...{ argv: argv.slice(2), env, stdout, stderr, signal: stop.signal, clock: systemClock },
    // Created on first use: most programs never read it, and creating it takes as long as the rest of their run.
    get stdin() {
      return host.stdin;
    },
  };
  let code: number;
  try {
    checkArgumentBytes(context.argv);
    code = await main(context);
  } catch (err) {
    code = report(options, err, stop.signal, stderr);
  }
  await flush(stdout);
  ended.abort();
  if (stop.signal.reason instanceof OutputFailure) code = 1;
  if (code === 0 && isClosedPipe(stop.signal)) code = exitCodeOfStop(stop.signal.reason as StoppedBySignal);
  for (const name of stopSignals) host.off(name, onSignal);
  for (const name of ignore) host.off(name, doNothing);
  host.exit(code);
}

/**
 * Exit code of a program that a signal ended, as a shell counts it.
 * @internal
 */
export function exitCodeOfStop(request: StoppedBySignal): number {
  return 128 + SIGNAL_NUMBERS[request.stopSignal];
}

function report(options: RunMainOptions, err: unknown, signal: AbortSignal, stderr: NodeJS.WriteStream): number {
  if (signal.aborted && signal.reason instanceof StoppedBySignal) {
    if (signal.reason.stopSignal === "SIGPIPE") return exitCodeOfStop(signal.reason);
    const ours = err === signal.reason || (err instanceof DomainError && err.kind === "cancelled");
    if (ours || (err instanceof Error && err.name === "AbortError")) return exitCodeOfStop(signal.reason);
  }
  if (signal.reason instanceof OutputFailure) return 1; // already reported
  if (isFolderGone(err)) {
    const hint = "cd to another, e.g. cd ~";
    return report(options, new DomainError("invalid", FOLDER_GONE, { fields: { hint } }), signal, stderr);
  }
  if (!(err instanceof DomainError)) {
    stderr.write(describeBug(options.name, err));
    return 1;
  }
  for (const line of err.lines) stderr.write(`${oneLine(line)}\n`);
  stderr.write(`${options.name}: error: ${oneLine(err.message)}\n`);
  const hint = err.fields["hint"];
  if (typeof hint === "string" && hint !== "") stderr.write(`${options.name}: hint: ${oneLine(hint)}\n`);
  return options.exitCodeOf?.(err) ?? options.exitCodes?.[err.kind] ?? (err.kind === "invalid" ? 2 : 1);
}

function isFolderGone(err: unknown): boolean {
  return err instanceof Error && (err as NodeJS.ErrnoException).syscall === "uv_cwd" && codeOf(err) === "ENOENT";
}

function isClosedPipe(signal: AbortSignal): boolean {
  return signal.reason instanceof StoppedBySignal && signal.reason.stopSignal === "SIGPIPE";
}

function doNothing(): void {}

function describeBug(name: string, err: unknown): string {
  const stack = err instanceof Error ? (err.stack ?? err.message) : String(err);
  return `${name}: bug: this should not have happened; please report it\n${plainText(stack)}\n`;
}

/** Resolves when everything has been written, or has failed and the listeners for that failure have been called. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => setImmediate(resolve);
    if (stream.destroyed || stream.errored) settle();
    else stream.write("", settle);
  });
}
