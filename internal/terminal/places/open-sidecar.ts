import { randomUUID } from "node:crypto";
import type { Interceptor } from "@connectrpc/connect";
import type { Clock } from "../../base/clock.ts";
import type { TlsFiles } from "../../pki/tls-files.ts";
import { type SidecarConnection, type SidecarTransportOptions, sidecarTransport } from "../../rpc/client/transport.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import type { Backend } from "../backend.ts";
import { placeAuthority } from "../finding/resolve-place.ts";
import { GRPCSidecarBackend } from "../grpc-sidecar.ts";
import { callerToken } from "../trust/caller-token.ts";
import { currentTls } from "../trust/current-tls.ts";
import { senderHeaders, senderOf } from "../trust/sender.ts";
import { clientTls, readTls } from "../trust/tls-files.ts";
import type { PlaceConfig } from "./place-config.ts";
import { checkWay, expectedAt, type SidecarPlace } from "./sidecar-way.ts";

const RECONNECT_MS = 15_000;
/** The hint for a sidecar that cannot be reached, by the source of its address. */
const HINTS: Readonly<Record<SidecarPlace["source"], string>> = {
  flags: "is gt-sidecar running there? gt agents lists those on this machine",
  bead: "that is the address in the agent's bead; from outside the cluster, forward a port, and give --host, --port and the session's id",
  cluster: "its pod is running but its sidecar does not answer; gt agents shows the pod's status",
  "this machine": "it is running but does not answer; see its log",
};

/**
 * Opens a sidecar for calls. It connects at the first call, and each call uses the current certificate.
 * @throws as `checkWay`; DomainError `invalid` for files that cannot be read
 */
export async function openSidecar(place: SidecarPlace, config: PlaceConfig, clock: Clock): Promise<Backend> {
  const tls = place.tls === false ? undefined : await readTls(config.tls);
  const { path } = place;
  const authority = placeAuthority(place);
  checkWay(place, config, tls !== undefined);
  const way = place.pod && (await (await import("./open-pod.ts")).podDial(place.pod, place.port, config));
  const address = way === undefined ? authority : `${place.host}:${place.port}`;
  const dial = way && { dial: way.dial };
  const connection =
    tls === undefined
      ? path === undefined
        ? sidecarTransport({ baseUrl: `http://${address}`, ...dial })
        : openSocket(path, config)
      : openTls(address, tls, { place, config, clock, ...dial });
  return new GRPCSidecarBackend(
    {
      transport: connection.transport,
      clock,
      newId: randomUUID,
      toError: way?.toError ?? domainErrorOf,
      random: Math.random,
      close: () => connection[Symbol.dispose](),
    },
    { where: authority, hint: HINTS[place.source], reconnectMs: RECONNECT_MS },
  );
}

/** A sidecar trusts callers on its unix socket, so a header is enough to name the sender. */
function openSocket(path: string, config: PlaceConfig): SidecarConnection {
  const headers = Object.entries(senderHeaders(config.env));
  const naming: Interceptor = (next) => (req) => {
    for (const [name, value] of headers) req.header.set(name, value);
    return next(req);
  };
  return sidecarTransport({ baseUrl: "http://localhost", socketPath: path, interceptors: [naming] });
}

interface TlsCall extends Pick<SidecarTransportOptions, "dial"> {
  readonly place: SidecarPlace;
  readonly config: PlaceConfig;
  readonly clock: Clock;
}

function openTls(authority: string, tls: TlsFiles, { place, config, clock, dial }: TlsCall): SidecarConnection {
  let certificate = tls.cert;
  const use = (files: TlsFiles) => {
    connection.setTls(clientTls(files, expectedAt(place)));
    certificate = files.cert;
  };
  const interceptors = [currentTls({ read: () => readTls(config.tls), use }, tls)];
  if (config.token !== undefined) {
    const deps = { clock, certificate: () => certificate, subject: senderOf(config.env) };
    interceptors.push(callerToken(deps, config.token));
  }
  const first = clientTls(tls, expectedAt(place));
  const way = { baseUrl: `https://${authority}`, dial };
  const connection = sidecarTransport({ ...way, tls: first, interceptors });
  return connection;
}
