import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TlsMaterial } from "../internal/rpc/common/tls.ts";
import { TestCa } from "../test/support/bridge/certificates.ts";

/** The client of every measurement. */
export const BENCH_URI = "spiffe://bench.test/client/bench";

/** Makes a CA, a server's certificate in a folder for `--tls-dir`, and a client's certificate. */
export async function makeCertificates(dir: string): Promise<{ readonly tlsDir: string; readonly tls: TlsMaterial }> {
  const ca = new TestCa("bench");
  const server = ca.issue({ uris: ["spiffe://bench.test/ns/bench/session/bench"], ips: ["127.0.0.1"] });
  const tlsDir = join(dir, "tls");
  await mkdir(tlsDir, { mode: 0o700 });
  const files = { "tls.crt": server.cert, "tls.key": server.key, "ca.crt": server.ca };
  for (const [name, text] of Object.entries(files)) await writeFile(join(tlsDir, name), text, { mode: 0o600 });
  return { tlsDir, tls: ca.issue({ uris: [BENCH_URI] }) };
}
