import { AuditLog } from "../../auth/audit-log.ts";
import { TrustedServer } from "../../auth/serving/trusted-server.ts";
import { publicKeysOf } from "../../auth/token-key-files.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { auditLines } from "../../files/audit-lines.ts";
import { readPlainFileSync } from "../../files/plain-file.ts";
import { FrontService } from "../../gen/desk/v1/desk_pb.ts";
import { authorizationKey, type CallContext } from "../../rpc/server/call-facts.ts";
import type { Decisions } from "../../rpc/server/decisions.ts";
import { HealthState } from "../../rpc/server/health.ts";
import { Metrics } from "../../rpc/server/metrics.ts";
import { STRICT_JSON } from "../../rpc/server/strict-json.ts";
import type { FrontJournal } from "./front-journal.ts";
import { frontService, originKey } from "./front-service.ts";
import type { FrontTurns } from "./front-turns.ts";
import { originOf } from "./origin.ts";

export interface FrontServerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly turns: FrontTurns;
  readonly journal: FrontJournal;
}

export interface FrontServerOptions {
  /** The unix socket. */
  readonly path: string;
  /** The file with the public keys (PEM) of the bridge's signing keys; read at each call. */
  readonly keyPath: string;
  /** The file that records refused calls. */
  readonly auditPath: string;
}

const MAX_KEY_BYTES = 16 * 1024;
const DELIVER = `/${FrontService.typeName}/${FrontService.method.deliver.name}`;
/**
 * The most request bytes of all users' calls together, and of the bridge's calls. The total limit is higher, so neither
 * locks out the other.
 */
const MAX_REQUEST_BYTES_OF_ONE = 24 * 1024 * 1024;
/** Hundreds of users may connect to a busy front at the same moment. */
const MAX_HALF_OPEN = 2048;
const GRACE_MS = 5000;

/** FrontService on a unix socket of this user. */
export function frontServer(deps: FrontServerDeps, options: FrontServerOptions): TrustedServer {
  const { clock, logger, turns, journal } = deps;
  const audit = new AuditLog({ clock, write: auditLines(options.auditPath, { clock, logger }) });
  const service = frontService(turns, journal, (ms, signal) => clock.sleep(ms, signal));
  return new TrustedServer(
    { clock, logger, health: new HealthState(), metrics: new Metrics(), audit: recordedRefusals(audit) },
    {
      listen: { host: "", port: 0, path: options.path },
      ...{ tls: undefined, tokens: undefined, services: [FrontService] },
      rules: () => ({
        routes: (router) => void router.service(FrontService, service, STRICT_JSON),
        shareOf: (path, share) => (path === DELIVER ? `${share} bridge` : share),
        gates: [(context) => checkOrigin(context, options.keyPath, clock.now())],
      }),
      hostCheck: { anyHost: true, allowHosts: [] },
      graceMs: GRACE_MS,
      limits: { maxRequestBytesOfOne: MAX_REQUEST_BYTES_OF_ONE, maxHalfOpen: MAX_HALF_OPEN },
    },
  );
}

/**
 * Runs before a request's body is read. The caller learns only that the request is refused; the reason is in the audit
 * log.
 */
function checkOrigin({ method, values }: Pick<CallContext, "method" | "values">, keyPath: string, now: number): void {
  if (method.name !== FrontService.method.deliver.name) return;
  try {
    values.set(originKey, originOf(values.get(authorizationKey), keysAt(keyPath), now));
  } catch (cause) {
    throw new DomainError("unauthenticated", "refused", { fields: { reason: "refused" }, cause });
  }
}

function keysAt(path: string) {
  const text = readPlainFileSync(path, MAX_KEY_BYTES);
  if (text === undefined) throw new DomainError("unauthenticated", "there is no key of the bridge yet");
  return publicKeysOf(text, "bridge.pub");
}

/** Omits allowed calls, which are in the journal. */
function recordedRefusals(audit: AuditLog): Decisions {
  return {
    call(context, refusal) {
      if (refusal === undefined) return;
      const { cause } = refusal;
      audit.call(context, cause instanceof DomainError ? cause : refusal);
    },
    ended: (context, why) => audit.ended(context, why),
    connection: (decision) => audit.connection(decision),
  };
}
