/** A connection that was refused or ended, by the handshake or because of its certificate. */
export interface ConnectionDecision {
  /** `host:port` of the other end. */
  readonly address: string;
  /** The identity in the peer's certificate, if there is one. */
  readonly identity?: string | undefined;
  readonly serial?: string;
  /** Node's or OpenSSL's code for a failed handshake; otherwise a sentence. */
  readonly reason: string;
}
