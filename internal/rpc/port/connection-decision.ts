/** A connection that is refused or ended: by the handshake, or for its certificate. */
export interface ConnectionDecision {
  /** `host:port` of the other end. */
  readonly address: string;
  /** The identity in its certificate, if there was one. */
  readonly identity?: string;
  readonly serial?: string;
  /** Node's or OpenSSL's code of a handshake that failed; a sentence otherwise. */
  readonly reason: string;
}
