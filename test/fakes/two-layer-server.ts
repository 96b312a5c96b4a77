import { AuditLog } from "../../internal/auth/audit-log.ts";
import { roleRefusal, sessionRefusal } from "../../internal/auth/bridge-policy.ts";
import { identitiesByCommonName } from "../../internal/auth/issuing-cas.ts";
import { RateLimiter } from "../../internal/auth/rate-limiter.ts";
import { admissionRefusal } from "../../internal/auth/tls/admission.ts";
import { TlsFolder } from "../../internal/auth/tls/tls-folder.ts";
import { tokenKey } from "../../internal/auth/token-gate.ts";
import { TokenLayer, type TokenLayerOptions } from "../../internal/auth/token-layer.ts";
import { aborted } from "../../internal/base/abort.ts";
import { systemClock as clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { runTasks } from "../../internal/base/task-group.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../internal/gen/gastown/v1/terminal_pb.ts";
import type { CrlPolicy } from "../../internal/pki/trust.ts";
import type { Routes } from "../../internal/rpc/server/adapter.ts";
import type { CallContext } from "../../internal/rpc/server/call-facts.ts";
import { RpcServer, type RpcServerDeps } from "../../internal/rpc/server/server.ts";

export interface TwoLayerOptions {
  readonly tlsDir: string;
  readonly keyFiles: TokenLayerOptions["keyFiles"];
  readonly crlPolicy?: CrlPolicy;
  /** The projects of sessions, by session. */
  readonly sessions?: Readonly<Record<string, string>>;
  readonly inputsPerMinute?: number;
  readonly host?: string;
  /** Default: any free port. */
  readonly port?: number;
  /** Receives the lines of both logs instead of storing them. */
  readonly onLine?: (line: string) => void;
  /** Replaces the routes. Called once, with the audit log. */
  readonly routes?: (audit: AuditLog) => Routes;
}

export interface TwoLayerServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The lines of the audit log and of the other log. */
  readonly audited: string[];
  readonly logged: string[];
  /** The number of calls that reached a handler. */
  handled(): number;
  /** The number of open streams. */
  open(): number;
}

/**
 * A service with the bridge's rules: a certificate and a token for every call, roles by RPC, sessions that belong to
 * projects. It answers Peek, Nudge, SendKeys, WatchOutput (until it is ended) and SendInput.
 */
export async function startTwoLayerServer(options: TwoLayerOptions): Promise<TwoLayerServer> {
  const { tlsDir, keyFiles, crlPolicy = "if-present", onLine } = options;
  const audited: string[] = [];
  const logged: string[] = [];
  const logger = createLogger("test", "debug", {
    destination: { write: onLine ?? ((line) => void logged.push(line)) },
  });
  const audit = new AuditLog({ clock, write: onLine ?? ((line) => void audited.push(line)) });
  let server: RpcServer | undefined;
  const folder = new TlsFolder(
    { clock, logger, onLoaded: ({ files }) => server?.setTls(files) },
    { dir: tlsDir, side: "server", trust: { crlPolicyOf: () => crlPolicy } },
  );
  const tokens = new TokenLayer(
    { clock, logger, tls: () => folder.current, decisions: audit },
    { keyFiles, audience: "bridge", required: true, freeServices: new Set() },
  );
  const stop = new AbortController();
  const following = folder.run(stop.signal);
  const tls = await folder.first(stop.signal);
  await tokens.load(tls);
  const counts = { handled: 0, open: 0 };
  server = new RpcServer({ clock, logger, decisions: audit } satisfies RpcServerDeps, {
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 0,
    tls: tls.files,
    ...admission(folder),
    gates: [tokens.gate, roleGate],
    routes: options.routes?.(audit) ?? routes(options, audit, counts),
    graceMs: 500,
  });
  const running = runTasks(stop.signal, [server, tokens]);
  const { port } = await server.listening;
  const end = async () => {
    stop.abort();
    await Promise.all([running, following]);
  };
  const state = { handled: () => counts.handled, open: () => counts.open };
  return { url: `https://127.0.0.1:${port}`, port, audited, logged, ...state, [Symbol.asyncDispose]: end };
}

function admission(
  folder: TlsFolder,
): Pick<ConstructorParameters<typeof RpcServer>[1], "admit" | "admittedUntil" | "identify"> {
  return {
    admit: (certificate, isNew) => {
      if (folder.current === undefined) return new DomainError("unavailable", "no certificate to serve with");
      return admissionRefusal({ certificate, isNew }, folder.current.trust, clock.now());
    },
    admittedUntil: (certificate) => folder.current?.trust.notAfter(certificate) ?? Number.NEGATIVE_INFINITY,
    identify: (certificate) =>
      folder.current ? identitiesByCommonName(certificate, folder.current.trust, clock.now()) : [],
  };
}

function roleGate(context: CallContext): void {
  const refusal = roleRefusal(claimsOf(context), context.method.name);
  if (refusal) throw refusal;
}

/** The token of a call that the gate has admitted. */
export function claimsOf({ values }: Pick<CallContext, "values">) {
  const claims = values.get(tokenKey)?.claims;
  if (claims === undefined) throw new Error("a call without token came through the gate");
  return claims;
}

function routes(
  { sessions = {}, inputsPerMinute = 1000 }: TwoLayerOptions,
  audit: AuditLog,
  counts: { handled: number; open: number },
): Routes {
  const inputs = new RateLimiter({ clock }, { what: "inputs", perMinute: inputsPerMinute });
  return (router) => {
    router.service(SidecarService, {
      peek() {
        counts.handled++;
        return { output: "line\n", sessionAlive: true };
      },
      nudge() {
        counts.handled++;
        return { delivered: true };
      },
      sendKeys() {
        counts.handled++;
        return { sent: true };
      },
      async *watchOutput(_, { signal }) {
        counts.handled++;
        counts.open++;
        try {
          yield { output: "first" };
          await aborted(signal);
          throw signal.reason;
        } finally {
          counts.open--;
        }
      },
    });
    router.service(TerminalService, {
      sendInput({ session: id }, context) {
        counts.handled++;
        const caller = claimsOf(context);
        const project = Object.hasOwn(sessions, id) ? sessions[id] : undefined;
        const refusal = sessionRefusal(caller, id, project === undefined ? undefined : { project });
        audit.policy(context, { session: id, project }, refusal);
        if (refusal) throw refusal;
        inputs.take(caller.issuer, caller.subject, id);
        return { delivered: true };
      },
    });
  };
}
