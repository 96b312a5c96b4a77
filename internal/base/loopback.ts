import { isIP } from "node:net";

/** An address literal of this machine only: 127.0.0.0/8 or ::1. Names, `localhost` too, are not addresses. */
export function isLoopbackAddress(host: string): boolean {
  return isIP(host) === 4 ? host.startsWith("127.") : host === "::1";
}
