import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { WebSocket } from "ws";
import { DomainError, errorText } from "../../base/errors.ts";
import { socketOpened } from "../door/socket-opened.ts";

export interface CarriedEditorOptions {
  /** `ws://HOST:PORT/acp?…` */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: plaintext. */
  readonly tls: ConnectionOptions | undefined;
}

/** The editor's own streams: one frame per line. */
export interface EditorStreams {
  readonly input: Readable;
  readonly output: Writable;
}

const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** While more than this is unsent, in bytes, the editor is not read. */
const FULL_BYTES = 4 * 1024 * 1024;
const FULL_LOOK_MS = 20;

/**
 * Carries the frames of an editor that speaks ACP over stdio, unread, to a relay's front door and back, until the
 * editor ends its input or the signal is aborted.
 * @throws DomainError `unavailable` if the relay cannot be reached, or the connection is lost; `denied` if the relay
 * refuses the connection
 */
export async function carryEditor(
  { url, headers, tls }: CarriedEditorOptions,
  { input, output }: EditorStreams,
  signal: AbortSignal,
): Promise<void> {
  const socket = new WebSocket(url, { maxPayload: MAX_FRAME_BYTES, headers, ...tls });
  const stop = () => socket.close(1000, "the editor has left");
  const closed = new Promise<readonly [number, Buffer]>((resolve) => {
    socket.once("close", (code, reason) => resolve([code, reason]));
  });
  let hasLeft = false;
  const leave = () => {
    hasLeft = true;
    stop();
  };
  for (const stream of [input, output]) stream.on("error", leave);
  try {
    await opened(socket);
  } catch (err) {
    if (hasLeft) return;
    throw err;
  }
  socket.on("message", (data) => {
    if (output.write(`${data.toString()}\n`)) return;
    socket.pause();
    output.once("drain", () => socket.resume());
  });
  socket.resume();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on("error", leave); // readline passes on the errors of its input
  lines.on("line", (line) => {
    if (line.trim() === "") return;
    socket.send(line);
    if (socket.bufferedAmount > FULL_BYTES) holdBack(lines, socket);
  });
  lines.once("close", leave);
  const [code, reason] = await closed;
  signal.removeEventListener("abort", stop);
  if (hasLeft || signal.aborted) return;
  lines.close();
  const why = reason.toString() === "" ? "" : `: ${reason.toString()}`;
  throw new DomainError("unavailable", `the relay has ended the connection with ${code}${why}`);
}

async function opened(socket: WebSocket): Promise<void> {
  const refused = await socketOpened(socket).catch((err: unknown) => {
    throw new DomainError("unavailable", `the relay cannot be reached: ${errorText(err)}`, { cause: err });
  });
  if (refused === undefined) return;
  const { statusCode: status = 0 } = refused;
  refused.destroy();
  const isForNow = status >= 500 || status === 429;
  throw new DomainError(isForNow ? "unavailable" : "denied", `the relay refuses the connection with ${status}`);
}

function holdBack(lines: ReturnType<typeof createInterface>, socket: WebSocket): void {
  lines.pause();
  const look = () => {
    if (socket.readyState !== socket.OPEN || socket.bufferedAmount < FULL_BYTES) return lines.resume();
    return setTimeout(look, FULL_LOOK_MS).unref();
  };
  look();
}
