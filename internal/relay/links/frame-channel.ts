/** A connection that carries whole frames of text, over any transport. */
export interface FrameChannel {
  /** Queues a frame. Does nothing after the end. */
  send(text: string): void;
  /** Called with each received frame. Set it before the first one comes. */
  onFrame: (text: string) => void;
  /** Stops or resumes reading the peer. */
  hold(isHeld: boolean): void;
  /** True while the peer is not read, so that its silence means nothing. */
  readonly isHeld: boolean;
  /** Ends the channel. `code` is a close code of WebSocket. */
  close(code: number, reason: string): void;
  /** Aborted at the channel's end, with a `ChannelEnd` as the reason. */
  readonly ended: AbortSignal;
}
