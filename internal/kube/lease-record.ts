import { asText } from "../base/json-fields.ts";

/** The content of a Lease. An empty holder means that it is free. */
export interface LeaseRecord {
  readonly holder: string;
  readonly durationMs: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  /** The number of changes of the holder, used as the term. */
  readonly transitions: number;
  readonly resourceVersion: string;
}

/** Parses a `coordination.k8s.io/v1` Lease. Missing or malformed fields read as those of a free lease. */
export function leaseRecord(value: unknown): LeaseRecord {
  const { metadata, spec } = (value ?? {}) as { metadata?: Fields; spec?: Fields };
  return {
    holder: asText(spec?.["holderIdentity"]),
    durationMs: Math.max(0, Number(spec?.["leaseDurationSeconds"]) || 0) * 1_000,
    acquireTime: asText(spec?.["acquireTime"]),
    renewTime: asText(spec?.["renewTime"]),
    transitions: Math.max(0, Math.trunc(Number(spec?.["leaseTransitions"]) || 0)),
    resourceVersion: asText(metadata?.["resourceVersion"]),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** A Kubernetes MicroTime, which requires exactly six fractional digits. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace("Z", "000Z");
}

/**
 * A record and the local time at which it was first seen; the record's own times are from another machine's clock and
 * are not compared.
 */
export interface Observation {
  readonly record: LeaseRecord;
  /** Monotonic, ms. */
  readonly seenAt: number;
}

/** The observation after a read: an unchanged record keeps the time at which it was first seen. */
export function observe(before: Observation | undefined, record: LeaseRecord, now: number): Observation {
  const isSame = before !== undefined && before.record.resourceVersion === record.resourceVersion;
  return isSame ? before : { record, seenAt: now };
}

/**
 * True if `self` may take or renew the lease: it is free, `self` holds it, or it has not been renewed for its whole
 * duration.
 */
export function mayTake({ record, seenAt }: Observation, self: string, now: number): boolean {
  return record.holder === "" || record.holder === self || now >= seenAt + record.durationMs;
}
