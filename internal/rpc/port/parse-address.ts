/** `127.0.0.1:9090`, `[::1]:9090`, `localhost:9090`; undefined for any other text. Port 0 means any free one. */
export function parseAddress(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** Like `parseAddress`, but accepts a port alone: `:9445` means all IPv4 addresses of the host. */
export function parseListenAddress(text: string): ReturnType<typeof parseAddress> {
  return parseAddress(text.startsWith(":") ? `0.0.0.0${text}` : text);
}
