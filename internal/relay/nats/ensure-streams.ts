import { JetStreamApiError, type JetStreamManager } from "@nats-io/jetstream";
import { DomainError, errorText } from "../../base/errors.ts";
import { notPermitted } from "./not-permitted.ts";
import type { StreamNames } from "./stream-specs.ts";
import { differences, streamSpecs } from "./stream-specs.ts";

/** A stream of the relay exists with other settings. The relay never changes a stream. */
class StreamMismatch extends DomainError {
  constructor(name: string, faults: readonly string[]) {
    super("precondition", `the stream ${name} has other settings: ${faults.join("; ")}`, {
      fields: { hint: "edit or delete the stream, or set nats.stream_prefix; the relay changes no stream by itself" },
    });
  }
}

const NOT_FOUND = 10059;

/** The creation times of all streams, by name. */
export type Created = ReadonlyMap<string, string>;

/**
 * Creates missing streams and checks the others.
 * @throws StreamMismatch if a stream has other settings
 * @throws DomainError `denied` if the server does not permit the calls, `unavailable` if they fail for another reason
 */
export async function ensureStreams(jsm: JetStreamManager, names: StreamNames, replicas: number): Promise<Created> {
  try {
    return await createMissing(jsm, names, replicas);
  } catch (err) {
    if (err instanceof DomainError) throw err;
    const away = new DomainError("unavailable", `NATS does not give the relay its streams: ${errorText(err)}`, {
      fields: { hint: "does that server run with JetStream (-js)?" },
      cause: err,
    });
    throw notPermitted(err) ?? away;
  }
}

async function createMissing(jsm: JetStreamManager, names: StreamNames, replicas: number): Promise<Created> {
  const created = new Map<string, string>();
  for (const spec of streamSpecs(names, replicas)) {
    const info = await jsm.streams.info(spec.name).catch((err: unknown) => {
      if (err instanceof JetStreamApiError && err.code === NOT_FOUND) return undefined;
      throw err;
    });
    const faults = info === undefined ? [] : differences(spec, info.config);
    if (faults.length > 0) throw new StreamMismatch(spec.name, faults);
    created.set(spec.name, (info ?? (await jsm.streams.add(spec))).created);
  }
  return created;
}
