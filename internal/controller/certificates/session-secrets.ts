import { createHash, type X509Certificate } from "node:crypto";
import { aborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { objectOf } from "../../base/json-fields.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import { TokenBucket } from "../../base/token-bucket.ts";
import type { KubeApi } from "../../kube/kube-api.ts";
import type { Delta } from "../../kube/object-store.ts";
import { Reflector, type ReflectorCounts } from "../../kube/reflector.ts";
import { firstCertificateOf, pemBlocks } from "../../pki/pem.ts";
import { LABELS, MANAGED_BY } from "../pods/names.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { keyText, type SessionRecord, secretNameOf } from "../pods/session-record.ts";
import type { NamespaceBinding } from "../pods/settings.ts";
import { secretsPath } from "./secret-client.ts";
import type { SeenVersion } from "./secret-store.ts";

/** The kept part of a session's Secret: neither its key nor its certificate. */
export interface SecretFacts {
  /** Serial of the certificate, upper-case hexadecimal; empty: there is no readable certificate. */
  readonly serial: string;
  /** Subject of the certificate's issuer. */
  readonly issuer: string;
  /** When the certificate expires, wall clock, ms; 0: there is no readable certificate. */
  readonly notAfter: number;
  /** SHA-256 of each CA in the bundle (DER), lower-case hexadecimal. */
  readonly caSha256: readonly string[];
}

export interface SessionSecretsDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly logger: Logger;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly pods: SessionPods;
  /** Called when anyone has created, changed or deleted a session's Secret; it is to be checked after `delayMs`. */
  readonly onChanged: (record: SessionRecord, delayMs: number) => void;
}

/** This many changes of a Secret are checked without a delay; after that, one per EACH_MS. */
const BURST = 30;
const EACH_MS = 5_000;
/** Limits for Secrets with our labels, into which anyone with write access may put a megabyte of certificates. */
const MAX_CAS = 256;
const MAX_TEXT = 1024;

/**
 * The Secrets of sessions, watched by our labels, so that damage done by hand is noticed at once. Only the leading
 * replica watches Secrets.
 */
export class SessionSecrets implements Task {
  readonly #deps: SessionSecretsDeps;
  readonly #reflectors: readonly Reflector<SecretFacts>[];
  /** Key of the session as text, by namespace and name of the Secret that the session should have. */
  readonly #sessions = new Map<string, string>();
  /** Immediate checks that are left, by namespace and name of the Secret. */
  readonly #budgets = new Map<string, TokenBucket>();
  #bundle: { readonly text: string; readonly caSha256: readonly string[] } = { text: "", caSha256: [] };

  constructor(deps: SessionSecretsDeps, bindings: readonly NamespaceBinding[]) {
    this.#deps = deps;
    const onDelta = (delta: Delta<SecretFacts>) => this.#take(delta);
    const project = (secret: unknown) => this.#factsOf(secret);
    const labelSelector = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.session}`;
    this.#reflectors = bindings
      .filter(({ credentials }) => credentials === "secret")
      .map(({ name }) => new Reflector({ ...deps, onDelta }, { path: secretsPath(name), labelSelector, project }));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods } = this.#deps;
    for (const record of pods.all()) this.#sessions.set(keyOf(record), keyText(record.key));
    const forget = pods.listen(({ type, record }) => {
      if (type === "changed") this.#sessions.set(keyOf(record), keyText(record.key));
      else this.#forget(keyOf(record));
    });
    try {
      await runTasks(signal, [{ run: aborted }, ...this.#reflectors]);
    } finally {
      forget();
      this.#sessions.clear();
      this.#budgets.clear();
    }
  }

  /** Every namespace with certificates has been listed. */
  get isSynced(): boolean {
    return this.#reflectors.every(({ isSynced }) => isSynced);
  }

  get counts(): readonly ReflectorCounts[] {
    return this.#reflectors.map(({ counts }) => counts);
  }

  /** Undefined: as far as known, the session has no Secret with our labels. */
  of(record: SessionRecord): SecretFacts | undefined {
    for (const { store } of this.#reflectors) {
      const secret = store.get(keyOf(record));
      if (secret !== undefined) return secret.value;
    }
    return undefined;
  }

  /** The Secret as the watch shows it now; also for Secrets with tokens. */
  shown(namespace: string, name: string): SeenVersion | undefined {
    const key = `${namespace}/${name}`;
    for (const { store } of this.#reflectors) {
      const secret = store.get(key);
      if (secret !== undefined) return secret;
    }
    return undefined;
  }

  /** The earliest time at which a session's certificate expires, wall clock, ms; undefined: no session has one. */
  get earliestEnd(): number | undefined {
    let earliest: number | undefined;
    for (const key of this.#sessions.keys()) {
      for (const { store } of this.#reflectors) {
        const end = store.get(key)?.value.notAfter;
        if (end !== undefined && end > 0 && (earliest === undefined || end < earliest)) earliest = end;
      }
    }
    return earliest;
  }

  #forget(key: string): void {
    this.#sessions.delete(key);
    this.#budgets.delete(key);
  }

  #take({ object }: Delta<SecretFacts>): void {
    const session = this.#sessions.get(object.key);
    const record = session === undefined ? undefined : this.#deps.pods.at(session);
    if (record !== undefined) this.#deps.onChanged(record, this.#delayMs(object.key));
  }

  /**
   * How long to delay a check: 0 for a Secret that changes occasionally; a Secret that another party keeps rewriting is
   * repaired at most once per EACH_MS.
   */
  #delayMs(key: string): number {
    const now = this.#deps.clock.monotonicMs();
    const budget = this.#budgets.get(key) ?? new TokenBucket(BURST, EACH_MS, now);
    this.#budgets.set(key, budget);
    const left = budget.fill(now);
    budget.take(0);
    return left >= 1 ? 0 : EACH_MS;
  }

  #factsOf(secret: unknown): SecretFacts {
    const data = objectOf(objectOf(secret)["data"]);
    const text = (key: string) => {
      const value = data[key];
      return typeof value === "string" ? Buffer.from(value, "base64").toString() : "";
    };
    const leaf = leafIn(text("tls.crt"));
    const caSha256 = this.#idsOf(text("ca.crt"));
    return {
      serial: brief(leaf?.serialNumber),
      issuer: brief(leaf?.issuer),
      notAfter: leaf?.validToDate.getTime() ?? 0,
      caSha256,
    };
  }

  /** Nearly all Secrets have the same bundle, so its result is cached. */
  #idsOf(text: string): readonly string[] {
    if (text !== this.#bundle.text) {
      const caSha256 = bundleIn(text)
        .slice(0, MAX_CAS)
        .map((der) => createHash("sha256").update(der).digest("hex"));
      this.#bundle = { text, caSha256 };
    }
    return this.#bundle.caSha256;
  }
}

function keyOf(record: SessionRecord): string {
  return `${record.pod.namespace}/${secretNameOf(record)}`;
}

/** The certificates of a bundle, which may contain anything. */
function bundleIn(pem: string): readonly Buffer[] {
  try {
    return pemBlocks(pem, "CERTIFICATE");
  } catch {
    return [];
  }
}

function leafIn(pem: string): X509Certificate | undefined {
  try {
    return firstCertificateOf(pem);
  } catch {
    return undefined;
  }
}

/** Drops a text that is longer than any of ours. */
function brief(text = ""): string {
  return text.length <= MAX_TEXT ? text : "";
}
