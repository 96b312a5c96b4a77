/** A connection that carries whole frames of text, over any transport. */
export interface FrameChannel {
  /** Queues a frame. Does nothing after the end. */
  send(text: string): void;
  /** Called with each received frame. Set it before the first one comes. */
  onFrame: (text: string) => void;
  /** Stops or resumes reading from the peer. */
  hold(isHeld: boolean): void;
  /** True while nothing is read from the peer, so that its silence means nothing. */
  readonly isHeld: boolean;
  /** Ends the channel. `code` is a WebSocket close code. */
  close(code: number, reason: string): void;
  /** Aborted at the channel's end, with a `ChannelEnd` as the reason. */
  readonly ended: AbortSignal;
}
