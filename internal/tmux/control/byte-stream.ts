/** Both directions of an attached control client that someone else runs. */
export interface ByteStream {
  write(text: string): void;
  /** Nothing more is written: tmux lets the client go, and the stream closes. */
  end(): void;
  /** Closes it now, whatever the other end does. */
  destroy(): void;
}

export interface StreamEvents {
  onBytes(chunk: Uint8Array): void;
  /** Once, as the last event, also after `destroy`. */
  onClosed(reason: string): void;
}

/**
 * Opens a stream of its own for each call, and calls `events` later than it returns. May throw when there is nothing to
 * open.
 */
export type OpenStream = (events: StreamEvents) => ByteStream;
