/** Both directions of an attached control client; other code runs the client. */
export interface ByteStream {
  write(text: string): void;
  /** Ends the writing side: tmux lets the client go, and the stream closes. */
  end(): void;
  /** Closes the stream now, whatever the other end does. */
  destroy(): void;
}

export interface StreamEvents {
  onBytes(chunk: Uint8Array): void;
  /** Called once, as the last event, even after `destroy`. */
  onClosed(reason: string): void;
}

/** Opens a new stream for each call; calls `events` only after it has returned. May throw if it cannot open one. */
export type OpenStream = (events: StreamEvents) => ByteStream;
