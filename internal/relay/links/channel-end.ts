/** Close code of WebSocket: a frame is too large. */
export const FRAME_TOO_LARGE = 1009;

/** The reason why a channel ended. */
export class ChannelEnd extends Error {
  /** A close code of WebSocket; 4408: no pong. */
  readonly code: number;
  readonly why: string;

  constructor(code: number, why: string) {
    super(`the connection ended: ${why} (${code})`);
    this.code = code;
    this.why = why;
  }
}
