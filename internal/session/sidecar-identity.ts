/** The session, project and agent that a sidecar serves. */
export interface SidecarIdentity {
  readonly sessionId: string;
  readonly project: string;
  /** The agent's address. */
  readonly address: string;
}
