/** A CA by the SHA-256 of its certificate (DER), lower-case hexadecimal, as sidecars report it. */
export type CaId = string;

/** The progress of the replacement of a CA. It is stored beside the CA's key. */
export type RotationState =
  /** One CA signs and is trusted. */
  | { readonly type: "steady"; readonly current: CaId }
  /** `current` signs; every bundle gets `next` too. */
  | { readonly type: "introducing"; readonly current: CaId; readonly next: CaId }
  /** The new CA, `current`, signs; every certificate is reissued. Bundles contain both. `since`: wall clock, ms. */
  | { readonly type: "reissuing"; readonly current: CaId; readonly previous: CaId; readonly since: number }
  /** The previous CA is removed from every bundle. */
  | { readonly type: "retiring"; readonly current: CaId; readonly previous: CaId };

/** The CAs that a running session's sidecar uses, by its Status. */
export interface SidecarReport {
  /** Names the session in alarms. */
  readonly session: string;
  /** The CAs in the current bundle; undefined: the sidecar was not reached yet. */
  readonly caSha256: readonly CaId[] | undefined;
  /** The issuer of the current certificate; undefined: not known. */
  readonly issuer: CaId | undefined;
}

export interface RotationOptions {
  /**
   * How long callers' certificates signed by the previous CA stay valid, ms: that CA remains trusted for this long
   * after the new one has begun to sign.
   */
  readonly callersMs: number;
}

/** The state after a check, and the sessions that delay the next step. */
export interface RotationStep {
  readonly state: RotationState;
  /** Sessions whose sidecars have not followed yet, sorted; empty: all have. */
  readonly waitingFor: readonly string[];
}

/**
 * Takes at most one step, and only when every live sidecar reports that it has followed the previous step: a fixed wait
 * would cut off sidecars whose Secret arrives late.
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

/** The CAs in every bundle of a state; the signer comes first. */
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

/** Begins the replacement by `next`, unless a replacement is in progress or `next` is the current CA. */
export function startRotation(state: RotationState, next: CaId): RotationState {
  if (state.type !== "steady" || state.current === next) return state;
  return { type: "introducing", current: state.current, next };
}

/** A sidecar has done all that the state requires. */
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
