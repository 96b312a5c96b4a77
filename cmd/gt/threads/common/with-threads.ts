import { DomainError } from "../../../../internal/base/errors.ts";
import { asObjects, asText, type Json } from "../../../../internal/base/json-fields.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { profileInUse } from "../../../../internal/terminal/places/profile-file.ts";
import {
  findThreads,
  ThreadsClient,
  type ThreadsFlags,
  type ThreadsPlace,
} from "../../../../internal/threads/client/threads-client.ts";

/** Calls operations by name; see `ThreadsClient.call`. */
export type CallOperation = (name: string, input: object) => Promise<Json>;

/** Finds the server and a token for it by flags, environment and profile. @throws as `findThreads` */
export function threadsHere(
  { env, clock }: Pick<CommandContext, "env" | "clock">,
  given: ThreadsFlags & { readonly profile?: string },
): ThreadsPlace {
  return findThreads(env, clock, { ...given, kept: () => profileInUse(env, given.profile) });
}

/** Finds the server, hands calls to it to `use`, and closes the connection afterwards. @throws as `findThreads` */
export async function withThreads<T>(
  given: Parameters<typeof threadsHere>[1],
  context: CommandContext,
  use: (call: CallOperation, client: ThreadsClient) => Promise<T>,
): Promise<T> {
  using client = new ThreadsClient(threadsHere(context, given));
  return await use((name, input) => client.call(name, input, context.signal), client);
}

const WHOLE = 18;

/**
 * Completes the beginning of a thread's id; returns a whole id unchanged.
 * @throws DomainError `not-found` if none of the caller's threads begins so; `invalid` if several do
 */
export async function threadIdOf(call: CallOperation, given: string): Promise<string> {
  if (given.length >= WHOLE || !/^[A-Za-z0-9_-]+$/.test(given)) return given;
  const found: string[] = [];
  for (let cursor: string | undefined, page = 0; page < 20; page++) {
    const answer = await call("list_threads", { limit: 100, cursor });
    const ids = asObjects(answer["threads"]).map((one) => asText(one["thread_id"]));
    if (ids.includes(given)) return given;
    found.push(...ids.filter((id) => id.startsWith(given)));
    cursor = typeof answer["next_cursor"] === "string" ? answer["next_cursor"] : undefined;
    if (cursor === undefined) break;
  }
  const [only] = found;
  if (found.length === 1 && only !== undefined) return only;
  if (found.length > 1) {
    throw new DomainError("invalid", `${found.length} threads begin with ${given}`, {
      fields: { hint: found.slice(0, 5).join(", ") },
    });
  }
  throw new DomainError("not-found", `there is no thread ${given}`, { fields: { hint: "gt threads ls lists yours" } });
}
