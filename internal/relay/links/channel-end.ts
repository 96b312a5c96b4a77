/** Why a channel has ended. */
export class ChannelEnd extends Error {
  /** As WebSocket has it; 4408: no pong. */
  readonly code: number;
  readonly why: string;

  constructor(code: number, why: string) {
    super(`the connection ended: ${why} (${code})`);
    this.code = code;
    this.why = why;
  }
}
