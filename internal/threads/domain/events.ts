import { threadsError } from "./faults.ts";
import type { Metadata } from "./types.ts";

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === "string" && value !== "" && value.length <= 1024;
const line: Check = (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
const ids: Check = (value) => Array.isArray(value) && value.length <= 64 && value.every(text);

/** The schema of an event's metadata: fields that are checked, and fields of which at least one is required. */
interface EventType {
  readonly version: number;
  readonly fields: Readonly<Record<string, Check>>;
  readonly needsOneOf?: readonly string[];
}

/** Event types with a schema. Other fields of their metadata, and the metadata of other types, are stored unchecked. */
const EVENTS: Readonly<Record<string, EventType>> = {
  finding_reported: { version: 1, fields: { path: text, line, severity: text } },
  fix_pushed: { version: 1, fields: { commit: text, ref: text, fixes: ids }, needsOneOf: ["commit", "ref"] },
  re_review_requested: { version: 1, fields: {} },
  resolved: { version: 1, fields: {} },
  question: { version: 1, fields: {} },
  answer: { version: 1, fields: {} },
  decision: { version: 1, fields: {} },
  summary: { version: 1, fields: { covers_seq: (value) => typeof value === "number" } },
};

/** Types of system messages, which callers may not use. */
const SYSTEM_TYPES: ReadonlySet<string> = new Set([
  ...["status_changed", "participant_joined", "participant_left", "escalated", "loop_blocked"],
  ...["wake_deferred", "wake_failed", "override", "needs_human"],
]);

const TYPE = /^[a-z][a-z0-9_.]{0,63}$/;

/**
 * Checks an event's type, version and metadata. Returns the version; default: the schema's, or 1 without a schema.
 * @throws DomainError `invalid`, code VALIDATION_ERROR
 */
export function checkEvent(type: string, version: number | undefined, metadata: Metadata | undefined): number {
  if (!TYPE.test(type)) throw invalid(`event_type ${JSON.stringify(type)} is not ${TYPE.source}`);
  if (SYSTEM_TYPES.has(type)) throw invalid(`event_type ${type} is reserved for the system`);
  const known = Object.hasOwn(EVENTS, type) ? EVENTS[type] : undefined;
  if (known === undefined) return version ?? 1;
  if (version !== undefined && version !== known.version) {
    throw invalid(`event_version ${version} of ${type} is not known: it is ${known.version}`);
  }
  for (const [name, check] of Object.entries(known.fields)) {
    const value = metadata?.[name];
    if (value !== undefined && !check(value)) throw invalid(`metadata.${name} of ${type} is not valid`);
  }
  if (known.needsOneOf !== undefined && !known.needsOneOf.some((name) => metadata?.[name] !== undefined)) {
    throw invalid(`metadata of ${type} needs ${known.needsOneOf.join(" or ")}`);
  }
  return known.version;
}

function invalid(message: string) {
  return threadsError("VALIDATION_ERROR", message);
}
