import { randomUUID } from "node:crypto";
import type { Interceptor } from "@connectrpc/connect";
import type { Clock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { isLoopbackAddress } from "../../../internal/base/loopback.ts";
import type { TlsFiles } from "../../../internal/pki/tls-files.ts";
import { type SidecarConnection, sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../../internal/rpc/common/errors.ts";
import { SENDER_HEADER } from "../../../internal/rpc/port/caller.ts";
import type { Backend } from "../../../internal/terminal/backend.ts";
import { authorityOf, type Place } from "../../../internal/terminal/finding/resolve-place.ts";
import { GRPCSidecarBackend } from "../../../internal/terminal/grpc-sidecar.ts";
import { callerToken } from "./caller-token.ts";
import { currentTls } from "./current-tls.ts";
import type { PlaceConfig } from "./place-config.ts";
import { senderOf } from "./sender.ts";
import { clientTls, readTls } from "./tls-files.ts";

const RECONNECT_MS = 15_000;
/** What a header takes as a sender. */
const NAME = /^[\x20-\x7e]{1,256}$/;
/** What to do when a sidecar cannot be reached, by who said that it is there. */
const HINTS: Readonly<Record<(Place & { type: "sidecar" })["source"], string>> = {
  flags: "is gt-sidecar running there? gt agents lists those of this machine",
  bead: "the agent's bead says that it is there; from outside of the cluster forward a port and give --host and --port",
  "this machine": "it is running but does not answer; its log tells why",
};

/**
 * A sidecar, ready to talk to; connects at the first call, and each call uses the certificate that lies there then.
 * @throws DomainError `unauthenticated` when it serves TLS and no certificate was given
 */
export async function openSidecar(
  place: Place & { type: "sidecar" },
  config: PlaceConfig,
  clock: Clock,
): Promise<Backend> {
  const tls = place.tls === false ? undefined : await readTls(config.tls);
  const { path } = place;
  const authority = authorityOf(place);
  if (place.source === "bead" && tls === undefined && !config.insecure) refuseNetworkPlaintext(place.host, authority);
  if (place.tls === true && tls === undefined) {
    throw new DomainError("unauthenticated", `${authority} wants a certificate`, {
      fields: { hint: "give --tls-dir, or --ca, --cert and --key" },
    });
  }
  if (tls === undefined && config.token?.type === "signed") {
    throw new DomainError("invalid", `${authority} is reached in plaintext, and a token is sent over TLS only`, {
      fields: { hint: "give --tls-dir, or --ca, --cert and --key" },
    });
  }
  const connection =
    tls === undefined
      ? path === undefined
        ? sidecarTransport({ baseUrl: `http://${authority}` })
        : openSocket(path, config)
      : openTls(authority, tls, { place, config, clock });
  return new GRPCSidecarBackend(
    {
      transport: connection.transport,
      clock,
      newId: randomUUID,
      toError: domainErrorOf,
      random: Math.random,
      close: () => connection[Symbol.dispose](),
    },
    { where: authority, hint: HINTS[place.source], reconnectMs: RECONNECT_MS },
  );
}

/** A caller at a unix socket is believed: the header says who asks. */
function openSocket(path: string, config: PlaceConfig): SidecarConnection {
  const sender = senderOf(config.env);
  const naming: Interceptor = (next) => (req) => {
    if (NAME.test(sender)) req.header.set(SENDER_HEADER, sender);
    return next(req);
  };
  return sidecarTransport({ baseUrl: "http://localhost", socketPath: path, interceptors: [naming] });
}

interface TlsCall {
  readonly place: Place & { readonly type: "sidecar" };
  readonly config: PlaceConfig;
  readonly clock: Clock;
}

function openTls(authority: string, tls: TlsFiles, { place, config, clock }: TlsCall): SidecarConnection {
  let certificate = tls.cert;
  const use = (files: TlsFiles) => {
    connection.setTls(clientTls(files, place.session));
    certificate = files.cert;
  };
  const interceptors = [currentTls({ read: () => readTls(config.tls), use }, tls)];
  if (config.token !== undefined) {
    const deps = { clock, certificate: () => certificate, subject: senderOf(config.env) };
    interceptors.push(callerToken(deps, config.token));
  }
  const first = clientTls(tls, place.session);
  const connection = sidecarTransport({ baseUrl: `https://${authority}`, tls: first, interceptors });
  return connection;
}

/** Whoever may write a bead could have a message sent in the clear to any machine. */
function refuseNetworkPlaintext(host: string, authority: string): void {
  if (host === "localhost" || isLoopbackAddress(host)) return;
  throw new DomainError("denied", `will not talk in plaintext to ${authority}, which the agent's bead names`, {
    fields: { hint: "give --tls-dir, or --insecure-plaintext where the network itself keeps strangers out" },
  });
}
