import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from "@nats-io/jetstream";

/** The names of the relay's streams. */
export interface StreamNames {
  readonly work: string;
  readonly results: string;
  readonly events: string;
  readonly dead: string;
  readonly lanes: string;
}

type Spec = Pick<StreamConfig, "name" | "subjects"> & Partial<StreamConfig>;

const NS_PER_MS = 1_000_000;
const DAY_MS = 24 * 3_600_000;
const MINUTE_MS = 60_000;
/** The limit of messages in a lane's queue, including the work in progress; publishing more fails. */
const WORK_PER_LANE = 1000;
const RECORDS_PER_LANE = 512;

export function streamNames(prefix: string): StreamNames {
  return {
    work: `${prefix}_WORK`,
    results: `${prefix}_RESULTS`,
    events: `${prefix}_EVENTS`,
    dead: `${prefix}_DEAD`,
    lanes: `${prefix}_LANES`,
  };
}

/** The required settings of each stream; all others are the server's choice. */
export function streamSpecs(names: StreamNames, replicas: number): readonly Spec[] {
  const common = { storage: StorageType.File, num_replicas: replicas };
  const kept = (days: number, windowMinutes: number) => ({
    ...common,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: days * DAY_MS * NS_PER_MS,
    duplicate_window: windowMinutes * MINUTE_MS * NS_PER_MS,
  });
  return [
    {
      ...common,
      name: names.work,
      subjects: ["sessions.*.work.*"],
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.New,
      discard_new_per_subject: true,
      max_msgs_per_subject: WORK_PER_LANE,
      duplicate_window: 2 * MINUTE_MS * NS_PER_MS,
    },
    { ...kept(7, 15), name: names.results, subjects: ["sessions.*.results.*"] },
    { ...kept(7, 2), name: names.events, subjects: ["sessions.*.events", "sessions.*.approvals"] },
    { ...kept(30, 2), name: names.dead, subjects: ["sessions.*.dead.*"] },
    { ...kept(7, 2), name: names.lanes, subjects: ["relay.lanes.*.*"], max_msgs_per_subject: RECORDS_PER_LANE },
  ];
}

/** The differences between a required and an existing stream, such as `max_age: 0, not 604800000000000`. */
export function differences(spec: Spec, found: Partial<StreamConfig>): readonly string[] {
  const [wanted, had] = [spec as Record<string, unknown>, found as Record<string, unknown>];
  return Object.keys(wanted)
    .filter((key) => JSON.stringify(wanted[key]) !== JSON.stringify(had[key]))
    .map((key) => `${key}: ${JSON.stringify(had[key])}, not ${JSON.stringify(wanted[key])}`);
}
