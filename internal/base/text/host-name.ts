const NAME =
  /^(?=.{1,253}$)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?$/;
const IPV6 = /^[0-9A-Fa-f:.]{2,45}$/;

/** True for a host name, an IPv4 address and an IPv6 address without brackets; false with a port. */
export function isHost(text: string): boolean {
  return NAME.test(text) || (IPV6.test(text) && text.split(":").length > 2);
}

/** `host:port`, with brackets around an IPv6 address, as in URLs. */
export function hostPort(host: string, port: number | string): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
