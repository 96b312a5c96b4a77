/** A connection that carries whole frames of text, whatever is under it. */
export interface FrameChannel {
  /** Queues a frame. After the end it does nothing. */
  send(text: string): void;
  /** Called with each frame, and with when it came (monotonic ms). Set it before the first comes. */
  onFrame: (text: string) => void;
  /** Stops reading the peer, or reads on. */
  hold(isHeld: boolean): void;
  /** True while the peer is not read: its silence says nothing. */
  readonly isHeld: boolean;
  /** Ends it; `code` as WebSocket has it. */
  close(code: number, reason: string): void;
  /** Aborted at its end, with a `ChannelEnd` as the reason. */
  readonly ended: AbortSignal;
}
