import type { DescMethod } from "@bufbuild/protobuf";
import { sessionClaim } from "../../auth/tls/session-name.ts";
import { DomainError } from "../../base/errors.ts";
import { hostPort } from "../../base/text/host-name.ts";
import { SidecarLink } from "../../bridge/sidecar-link.ts";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { sidecarDnsName } from "../../pki/trust-domain.ts";
import { ResponseBudget } from "../../rpc/client/response-budget.ts";
import type { SidecarConnection } from "../../rpc/client/transport.ts";
import { sidecarTransport } from "../../rpc/client/transport.ts";
import type { TlsMaterial } from "../../rpc/common/tls.ts";
import { isOver, type SessionRecord, SIDECAR_PORT } from "./session-record.ts";

export interface SidecarPoolDeps {
  /** Our certificate, its key and the CAs of the sidecars; undefined: not known yet. */
  readonly tls: () => TlsMaterial | undefined;
  /** Creates a connection that opens at the first call. Default: `sidecarTransport`. */
  readonly connect?: typeof sidecarTransport;
}

interface Pooled {
  readonly connection: SidecarConnection;
  readonly link: SidecarLink;
  readonly address: string;
  tls: TlsMaterial | undefined;
}

/**
 * Limits of the memory for responses while they arrive: from all sidecars, from those of one project, and from one. An
 * agent may control its sidecar, and a project's callers may collude with it, but no project can take the memory of the
 * others.
 */
const RESPONSES_BYTES = 96 * 1024 * 1024;
const RESPONSES_OF_PROJECT_BYTES = 64 * 1024 * 1024;
const RESPONSES_OF_ONE_BYTES = 32 * 1024 * 1024;
const { peek, watchOutput, attach } = SidecarService.method;
const LARGE: ReadonlySet<DescMethod> = new Set<DescMethod>([peek, watchOutput, attach]);

/**
 * Limits of a sidecar's messages, above what an honest one sends: 3 MiB for a screen with its history, and a screen's
 * text for all other methods. `window` bounds what is buffered for a caller that does not read.
 * @internal
 */
export const SIDECAR_LIMITS = {
  readMaxBytes: 4 * 1024 * 1024,
  small: { has: (method: DescMethod) => !LARGE.has(method), readMaxBytes: 1024 * 1024 },
  window: 64 * 1024,
};

/**
 * One connection to each session's sidecar, shared by all callers; the first call opens it, and it closes when idle. A
 * server whose certificate does not name the session is refused, whatever answers at the pod's address.
 */
export class SidecarPool implements Disposable {
  readonly #deps: SidecarPoolDeps;
  readonly #trustDomain: string;
  /** Connections by pod uid. */
  readonly #pooled = new Map<string, Pooled>();
  readonly #responses = new ResponseBudget(RESPONSES_BYTES);
  readonly #responsesOf = new Map<string, ResponseBudget>();

  constructor(deps: SidecarPoolDeps, options: { readonly trustDomain: string }) {
    this.#deps = deps;
    this.#trustDomain = options.trustDomain;
  }

  /**
   * @throws DomainError `unavailable` for a pod that has no address yet or has ended, and while we have no certificate
   */
  link(record: SessionRecord): SidecarLink {
    const { podIp } = record.pod.status;
    if (podIp === "") throw new DomainError("unavailable", `session ${record.key.id} has no address yet`);
    // The pod keeps its address in its status, while the cluster may give it to another pod.
    if (isOver(record.pod)) throw new DomainError("unavailable", `the pod of session ${record.key.id} has ended`);
    const isPlain = record.binding.credentials === "plaintext";
    const tls = isPlain ? undefined : this.#deps.tls();
    if (!isPlain && tls === undefined) throw new DomainError("unavailable", "the controller has no certificate yet");
    const address = `${isPlain ? "http" : "https"}://${hostPort(podIp, SIDECAR_PORT)}`;
    return this.#current(record, address, tls).link;
  }

  /** Closes the connection to a pod that is gone; calls in progress fail. */
  drop(podUid: string): void {
    this.#pooled.get(podUid)?.connection[Symbol.dispose]();
    this.#pooled.delete(podUid);
  }

  [Symbol.dispose](): void {
    for (const uid of [...this.#pooled.keys()]) this.drop(uid);
  }

  #current(record: SessionRecord, address: string, tls: TlsMaterial | undefined): Pooled {
    const { uid } = record.pod;
    const known = this.#pooled.get(uid);
    if (known !== undefined && known.address !== address) this.drop(uid);
    const pooled = this.#pooled.get(uid) ?? this.#open(record, address, tls);
    if (tls !== undefined && pooled.tls !== tls) {
      pooled.connection.setTls(this.#tlsFor(record, tls));
      pooled.tls = tls;
    }
    return pooled;
  }

  #open(record: SessionRecord, baseUrl: string, tls: TlsMaterial | undefined): Pooled {
    const { connect = sidecarTransport } = this.#deps;
    const { namespace } = record.pod;
    const secure = tls && {
      tls: this.#tlsFor(record, tls),
      serverName: sidecarDnsName(this.#trustDomain, namespace, record.key.id),
    };
    const responseBudget = new ResponseBudget(RESPONSES_OF_ONE_BYTES, this.#ofProject(record.key.project));
    const connection = connect({ baseUrl, responseBudget, ...SIDECAR_LIMITS, ...secure });
    const pooled = { connection, link: new SidecarLink(connection), address: baseUrl, tls };
    this.#pooled.set(record.pod.uid, pooled);
    return pooled;
  }

  #ofProject(project: string): ResponseBudget {
    const budget = this.#responsesOf.get(project) ?? new ResponseBudget(RESPONSES_OF_PROJECT_BYTES, this.#responses);
    this.#responsesOf.set(project, budget);
    return budget;
  }

  /** TLS itself checks the DNS name; this also refuses a certificate that names another session in addition. */
  #tlsFor({ key }: SessionRecord, tls: TlsMaterial) {
    return {
      ...tls,
      identify: (server: Parameters<typeof sessionClaim>[0]) => {
        const claim = sessionClaim(server, key.id, this.#trustDomain);
        return claim.type === "by-name" ? "also" : new DomainError("unauthenticated", NOT_THIS_SESSION);
      },
    } as const;
  }
}

const NOT_THIS_SESSION = "the server's certificate does not name this session";
