import { headers } from "@nats-io/transport-node";
import { DomainError } from "../../base/errors.ts";
import type { Bus } from "./bus.ts";
import { notPermitted } from "./not-permitted.ts";

/** Replaces the wildcards of a permission: no session, role or consumer has this name. */
const NO_ONE = "$relay";
const NO_STREAM = "none";
const TIMEOUT_MS = 5000;

/**
 * Checks permissions by publishing on each kind of subject that the relay uses. No stream stores these messages, and
 * they request nothing.
 * @throws DomainError `denied`, with the subject, for the first subject that NATS does not permit
 */
export async function checkPublishing(bus: Bus): Promise<void> {
  const { work } = bus.streams;
  const patterns = [
    ...["results", "dead", "progress"].map((what) => `sessions.*.${what}.*`),
    ...["sessions.*.events", "sessions.*.approvals", "relay.lanes.*.*", "relay.ctl.*"],
    ...["CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT"].map((call) => `$JS.API.${call}.${work}.*`),
    ...["STREAM.MSG.GET", "STREAM.MSG.DELETE"].map((call) => `$JS.API.${call}.${work}`),
  ];
  const refusals = await Promise.all(patterns.map((pattern) => refusalOf(bus, pattern)));
  const [first] = refusals.filter((refusal) => refusal !== undefined);
  if (first !== undefined) throw first;
}

async function refusalOf({ nc }: Bus, pattern: string): Promise<DomainError | undefined> {
  const block = headers();
  block.set("Nats-Expected-Stream", NO_STREAM);
  try {
    await nc.request(pattern.replaceAll("*", NO_ONE), "", { timeout: TIMEOUT_MS, headers: block });
    return undefined;
  } catch (err) {
    if (notPermitted(err) === undefined) return undefined; // permitted; no one answers
    return new DomainError("denied", `NATS does not permit to publish ${pattern}`, {
      fields: { hint: "give the relay's user this permission; relay nats server-config prints all it needs" },
      cause: err,
    });
  }
}
