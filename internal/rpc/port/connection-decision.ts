/** A connection that is refused or ended: by the handshake, or for its certificate. */
export interface ConnectionDecision {
  /** `host:port` of the other end. */
  readonly address: string;
  /** Who its certificate says it is, where there was one that says so. */
  readonly identity?: string;
  readonly serial?: string;
  /** Node's or OpenSSL's code of a handshake that failed; a sentence otherwise. */
  readonly reason: string;
}
