import type { AgentIdentity, AgentTokens } from "../../auth/agent-token.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { ANNOTATIONS, LABELS, labelValue, MANAGED_BY, tokenSecretName } from "../pods/names.ts";
import { hasEnded, optionsOf, type SessionRecord } from "../pods/session-record.ts";
import { type ObservedSecret, placeAction } from "./certificate-policies.ts";
import type { SecretContent, SecretStore } from "./secret-store.ts";
import { ShownSecrets, type ShownVersionOf } from "./shown-secrets.ts";

export interface TokenSecretsDeps {
  readonly secrets: SecretStore;
  readonly tokens: AgentTokens;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * The CAs of the server that the tokens are for, PEM: `ca.crt` of each Secret. Absent: there is no such file.
   * @throws DomainError while they are not known
   */
  readonly serverCa?: (() => string) | undefined;
  /** A Secret whose version the watch shows unchanged is not read again. Absent: there is no watch. */
  readonly shown?: ShownVersionOf | undefined;
}

/** Only a fallback: the watch shows the deletion of the Secret, which a finalizer may delay without a limit. */
const LOOK_AGAIN_MS = 10_000;
const REFUSED_AGAIN_MS = 60_000;
const FAILED_AGAIN_MS = 30_000;

/**
 * The Secret with the token of a session's agent: named after the pod, owned by it, and mounted in the agent's
 * container. It is separate from the Secret with the certificate. Every write has a precondition; the kubelet updates
 * the file within a minute or two.
 */
export class TokenSecrets {
  readonly #deps: TokenSecretsDeps;
  /** When to renew the token of a pod, wall clock, ms. */
  readonly #due: ShownSecrets<{ readonly podUid: string; readonly at: number; readonly ca: string | undefined }>;

  constructor(deps: TokenSecretsDeps) {
    this.#deps = deps;
    this.#due = new ShownSecrets(deps.clock, deps.shown);
  }

  /**
   * Checks once; returns when to check again, in ms. Undefined: the session has ended, or its pod has no volume for a
   * token.
   * @throws DomainError of the cluster's API: `already-exists` and `precondition` if another replica was faster; check
   * again
   */
  async look(record: SessionRecord, signal: AbortSignal): Promise<number | undefined> {
    const { pod } = record;
    const name = tokenSecretName(pod.name);
    if (!hasPlace(record) || pod.deletedAt !== undefined || hasEnded(record)) return undefined;
    const { secrets, logger, clock } = this.#deps;
    const due = this.#due.found(pod.namespace, name);
    const isCurrent = due?.podUid === pod.uid && due.at > clock.now();
    if (isCurrent && due.ca === this.#tried(record, () => ({ ca: this.#deps.serverCa?.() }))?.ca) {
      return due.at - clock.now();
    }
    const secret = await secrets.get(pod.namespace, name, signal);
    const action = secret && placeAction({ secret, pod });
    if (secret === undefined || action === undefined) return this.#renew(record, secret, signal);
    if (action.type === "recreate") {
      // Renew now, not at the next check: otherwise the pod would start without a token, and get one minutes later.
      await secrets.delete(pod.namespace, name, secret, signal);
      return this.#renew(record, undefined, signal);
    }
    if (action.type !== "refuse") return LOOK_AGAIN_MS;
    logger.error({ namespace: pod.namespace, secret: name }, "a Secret of this name is not ours: no token");
    return REFUSED_AGAIN_MS;
  }

  /** Deletes the token when the session has ended; the pod stays. */
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
    const content = this.#tried(record, () => {
      const dueAt = tokens.renewalTime(before, whom);
      const isGood = dueAt !== undefined && dueAt > clock.now();
      return contentOf(record, isGood ? before : tokens.mint(whom), this.#deps.serverCa?.());
    });
    if (content === undefined) return FAILED_AGAIN_MS;
    const { token, "ca.crt": ca } = content.data;
    const isCurrent = token === before && ca === secret?.data["ca.crt"];
    if (!isCurrent) {
      if (secret === undefined) await secrets.create(record.pod.namespace, content, signal);
      else await secrets.replace(record.pod.namespace, content, secret, signal);
    }
    const at = tokens.renewalTime(token, whom) ?? 0;
    const { namespace, uid: podUid } = record.pod;
    if (isCurrent && secret !== undefined) this.#due.keep(namespace, secret, { podUid, at, ca });
    return Math.max(0, at - clock.now());
  }

  /** A key or a CA that cannot be read must not block the session. */
  #tried<T>(record: SessionRecord, make: () => T): T | undefined {
    try {
      return make();
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      this.#deps.logger.error({ err, session: record.key.id }, "cannot create a session's token");
      return undefined;
    }
  }
}

/** The controller created the pod with this volume; volumes of adopted pods belong to their creators. */
function hasPlace({ isOwn, pod }: SessionRecord): boolean {
  return isOwn && pod.tokenSecret === tokenSecretName(pod.name);
}

function identityOf({ key, pod }: SessionRecord): AgentIdentity {
  const { role } = optionsOf(pod);
  const agent = pod.annotations[ANNOTATIONS.address] ?? key.id;
  return { workspace: key.project, agent, session: key.id, role };
}

interface TokenContent extends SecretContent {
  readonly data: { readonly token: string; readonly "ca.crt"?: string };
}

function contentOf({ key, pod }: SessionRecord, token: string, ca: string | undefined): TokenContent {
  return {
    name: tokenSecretName(pod.name),
    labels: { [LABELS.managedBy]: MANAGED_BY, [LABELS.session]: labelValue(key.id) },
    owner: { kind: "Pod", name: pod.name, uid: pod.uid },
    data: { token, ...(ca !== undefined && { "ca.crt": ca }) },
  };
}
