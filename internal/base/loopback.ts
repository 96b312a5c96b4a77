import { isIP } from "node:net";

/** True for an IP address in 127.0.0.0/8 and for ::1. False for every name, including `localhost`. */
export function isLoopbackAddress(host: string): boolean {
  return isIP(host) === 4 ? host.startsWith("127.") : host === "::1";
}

/** True for `localhost` and for each loopback address. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || isLoopbackAddress(host);
}
