/** Whose sidecar it is. */
export interface SidecarIdentity {
  readonly sessionId: string;
  readonly project: string;
  /** The agent's address. */
  readonly address: string;
}
