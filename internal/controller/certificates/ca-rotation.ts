/** A CA by the SHA-256 of its certificate (DER), lower-case hexadecimal, as sidecars report it. */
export type CaId = string;

/** How far the replacement of a CA is. It is kept beside the CA's key. */
export type RotationState =
  /** One CA signs and is trusted. */
  | { readonly type: "steady"; readonly current: CaId }
  /** `current` signs; every bundle gets `next` too. */
  | { readonly type: "introducing"; readonly current: CaId; readonly next: CaId }
  /** `current`, the new one, signs; every certificate is issued again. Bundles hold both. `since`: wall clock, ms. */
  | { readonly type: "reissuing"; readonly current: CaId; readonly previous: CaId; readonly since: number }
  /** The previous CA leaves every bundle. */
  | { readonly type: "retiring"; readonly current: CaId; readonly previous: CaId };

/** What a running session's sidecar reports in its Status. */
export interface SidecarReport {
  /** Names it in alarms. */
  readonly session: string;
  /** The CAs of the bundle in use; undefined: it was not reached yet. */
  readonly caSha256: readonly CaId[] | undefined;
  /** The CA that signed the certificate in use; undefined: not known. */
  readonly issuer: CaId | undefined;
}

export interface RotationOptions {
  /**
   * How long certificates of callers that the previous CA has signed may live on, ms: it stays trusted for this long
   * after the change of the signer.
   */
  readonly callersMs: number;
}

/** The state after a look, and who holds up the next step. */
export interface RotationStep {
  readonly state: RotationState;
  /** Sessions whose sidecars have not followed yet, sorted; empty: all have. */
  readonly waitingFor: readonly string[];
}

/**
 * Takes at most one step. Each is taken only when every live sidecar reports that it has followed the one before:
 * waiting for a fixed time instead would cut off those whose Secret arrives late.
 * @param reports one for each live session with a certificate of ours
 * @param now wall clock, ms
 */
export function nextRotation(
  state: RotationState,
  reports: readonly SidecarReport[],
  now: number,
  { callersMs }: RotationOptions,
): RotationStep {
  const waitingFor = reports.filter((report) => !hasFollowed(state, report)).map(({ session }) => session);
  if (waitingFor.length > 0) return { state, waitingFor: waitingFor.sort() };
  return { state: stepFrom(state, now, callersMs), waitingFor: [] };
}

/** The CAs of every bundle in a state, the signer first. */
export function bundleOf(state: RotationState): readonly CaId[] {
  switch (state.type) {
    case "steady":
    case "retiring":
      return [state.current];
    case "introducing":
      return [state.current, state.next];
    case "reissuing":
      return [state.current, state.previous];
  }
}

/** Begins the replacement by `next`. A replacement that is under way continues; it is not replaced itself. */
export function startRotation(state: RotationState, next: CaId): RotationState {
  if (state.type !== "steady" || state.current === next) return state;
  return { type: "introducing", current: state.current, next };
}

/** Whether a sidecar is as far as the state asks. */
export function hasFollowed(state: RotationState, { caSha256, issuer }: SidecarReport): boolean {
  switch (state.type) {
    case "steady":
      return true;
    case "introducing":
      return caSha256?.includes(state.next) === true;
    case "reissuing":
      return issuer === state.current;
    case "retiring":
      return caSha256 !== undefined && !caSha256.includes(state.previous);
  }
}

function stepFrom(state: RotationState, now: number, callersMs: number): RotationState {
  switch (state.type) {
    case "steady":
      return state;
    case "introducing":
      return { type: "reissuing", current: state.next, previous: state.current, since: now };
    case "reissuing": {
      const { current, previous, since } = state;
      return now >= since + callersMs ? { type: "retiring", current, previous } : state;
    }
    case "retiring":
      return { type: "steady", current: state.current };
  }
}
