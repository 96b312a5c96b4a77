import type { AgentIdentity, AgentTokens } from "../../auth/agent-token.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { ANNOTATIONS, LABELS, labelValue, MANAGED_BY, tokenSecretName } from "../pods/names.ts";
import { hasEnded, type SessionRecord } from "../pods/session-record.ts";
import { type ObservedSecret, placeAction } from "./certificate-policies.ts";
import type { SecretContent, SecretStore } from "./secret-store.ts";
import { type ShownSecret, ShownSecrets } from "./shown-secrets.ts";

export interface TokenSecretsDeps {
  readonly secrets: SecretStore;
  readonly tokens: AgentTokens;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What a watch shows is not read at each look. Absent: there is none. */
  readonly shown?: ShownSecret;
}

/** Where it goes earlier, the watch shows that; a finalizer may hold it for as long as its owner likes. */
const LOOK_AGAIN_MS = 10_000;
const REFUSED_AGAIN_MS = 60_000;
const FAILED_AGAIN_MS = 30_000;

/**
 * The Secret with the token of a session's agent, beside that with its certificate: named after the pod, owned by it,
 * and mounted where the agent is. Every write has a precondition; the kubelet brings the file up to date within a
 * minute or two.
 */
export class TokenSecrets {
  readonly #deps: TokenSecretsDeps;
  /** When the token of a pod is due, wall clock, ms. */
  readonly #due: ShownSecrets<{ readonly podUid: string; readonly at: number }>;

  constructor(deps: TokenSecretsDeps) {
    this.#deps = deps;
    this.#due = new ShownSecrets(deps.clock, deps.shown);
  }

  /**
   * One look; answers after how many ms the next is due, undefined: the session has ended, or its pod has no place for
   * a token.
   * @throws DomainError of the cluster's API: `already-exists` and `precondition` when another replica was quicker;
   * look again
   */
  async look(record: SessionRecord, signal: AbortSignal): Promise<number | undefined> {
    const { pod } = record;
    const name = tokenSecretName(pod.name);
    if (!hasPlace(record) || pod.deletedAt !== undefined || hasEnded(record)) return undefined;
    const { secrets, logger, clock } = this.#deps;
    const due = this.#due.found(pod.namespace, name);
    if (due?.podUid === pod.uid && due.at > clock.now()) return due.at - clock.now();
    const secret = await secrets.get(pod.namespace, name, signal);
    const action = secret && placeAction({ secret, pod });
    if (secret === undefined || action === undefined) return this.#renew(record, secret, signal);
    if (action.type === "recreate") {
      // Not at the next look: the pod would start without a token, and its kubelet finds one minutes later.
      await secrets.delete(pod.namespace, name, secret, signal);
      return this.#renew(record, undefined, signal);
    }
    if (action.type !== "refuse") return LOOK_AGAIN_MS;
    logger.error({ namespace: pod.namespace, secret: name }, "a Secret of this name is not ours: no token");
    return REFUSED_AGAIN_MS;
  }

  /** When the session has ended; the pod stays. */
  async remove(record: SessionRecord, signal: AbortSignal): Promise<void> {
    const { pod } = record;
    if (!hasPlace(record)) return;
    const name = tokenSecretName(pod.name);
    const secret = await this.#deps.secrets.get(pod.namespace, name, signal);
    if (secret === undefined || placeAction({ secret, pod }) !== undefined) return;
    await this.#deps.secrets.delete(pod.namespace, name, secret, signal);
  }

  async #renew(
    record: SessionRecord,
    secret: ObservedSecret | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { secrets, tokens, clock } = this.#deps;
    const whom = identityOf(record);
    const before = secret?.data["token"] ?? "";
    const token = this.#tried(record, () => {
      const dueAt = tokens.renewalTime(before, whom);
      return dueAt !== undefined && dueAt > clock.now() ? before : tokens.mint(whom);
    });
    if (token === undefined) return FAILED_AGAIN_MS;
    if (token !== before) {
      const content = contentOf(record, token);
      if (secret === undefined) await secrets.create(record.pod.namespace, content, signal);
      else await secrets.replace(record.pod.namespace, content, secret, signal);
    }
    const at = tokens.renewalTime(token, whom) ?? 0;
    const { namespace, uid: podUid } = record.pod;
    if (token === before && secret !== undefined) this.#due.keep(namespace, secret, { podUid, at });
    return Math.max(0, at - clock.now());
  }

  /** A key that cannot be read holds up no session. */
  #tried(record: SessionRecord, make: () => string): string | undefined {
    try {
      return make();
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      this.#deps.logger.error({ err, session: record.key.id }, "cannot create a session's token");
      return undefined;
    }
  }
}

/** Its volume was put there when the pod was made here; what others mount is theirs. */
function hasPlace({ isOwn, pod }: SessionRecord): boolean {
  return isOwn && pod.tokenSecret === tokenSecretName(pod.name);
}

function identityOf({ key, pod }: SessionRecord): AgentIdentity {
  return { workspace: key.project, agent: pod.annotations[ANNOTATIONS.address] ?? key.id, session: key.id };
}

function contentOf({ key, pod }: SessionRecord, token: string): SecretContent {
  return {
    name: tokenSecretName(pod.name),
    labels: { [LABELS.managedBy]: MANAGED_BY, [LABELS.session]: labelValue(key.id) },
    owner: { kind: "Pod", name: pod.name, uid: pod.uid },
    data: { token },
  };
}
