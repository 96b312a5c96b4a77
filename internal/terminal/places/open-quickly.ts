import type { ConnectionOptions } from "node:tls";
import type { Clock } from "../../base/clock.ts";
import type { Backend } from "../backend.ts";
import { placeAuthority } from "../finding/resolve-place.ts";
import { quickBackend } from "../quick-backend.ts";
import { QuickSidecar } from "../quick-sidecar.ts";
import { senderHeaders } from "../trust/sender.ts";
import type { PlaceConfig } from "./place-config.ts";
import { checkWay, expectedAt, type SidecarPlace } from "./sidecar-way.ts";

/**
 * Opens a sidecar for calls. A peek, the most frequent call, does not load the RPC library, unless it is made with a
 * token or to a pod.
 * @throws as `openSidecar`
 */
export async function openQuickly(place: SidecarPlace, config: PlaceConfig, clock: Clock): Promise<Backend> {
  const full = async () => (await import("./open-sidecar.ts")).openSidecar(place, config, clock);
  // A pod is reached through the cluster's API server, which `QuickSidecar` cannot use.
  if (config.token !== undefined || place.pod !== undefined) return await full();
  const tls = await tlsOf(place, config);
  checkWay(place, config, tls !== undefined);
  const { host, port, path } = place;
  const headers = path === undefined ? undefined : senderHeaders(config.env);
  const quick = new QuickSidecar({ host, port, path, headers, tls }, clock);
  return quickBackend(placeAuthority(place), quick, full);
}

/** Imports the code that reads certificates only when there are some: a plaintext peek does without it. */
async function tlsOf(place: SidecarPlace, { tls }: PlaceConfig): Promise<ConnectionOptions | undefined> {
  if (place.tls === false || Object.values(tls).every((path) => path === undefined)) return undefined;
  const { clientTls, readTls } = await import("../trust/tls-files.ts");
  const files = await readTls(tls);
  if (files === undefined) return undefined;
  const { clientTlsOptions } = await import("../../rpc/common/tls.ts");
  return clientTlsOptions(clientTls(files, expectedAt(place)));
}
