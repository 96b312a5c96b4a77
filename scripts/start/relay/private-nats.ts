import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createUser } from "@nats-io/nkeys";
import { nkeyAuthenticator } from "@nats-io/transport-node";

/**
 * Writes an NKey to a folder, and a nats-server configuration that admits only the key's holder: otherwise any user of
 * the machine could connect over loopback.
 */
export async function privateNats(folder: string) {
  const user = createUser();
  const seed = user.getSeed();
  const [nkey, config] = [join(folder, "relay.nk"), join(folder, "nats.conf")];
  await writeFile(nkey, seed, { mode: 0o600 });
  await writeFile(config, `authorization { users: [{ nkey: ${user.getPublicKey()} }] }\n`, { mode: 0o600 });
  return { nkey, config, authenticator: nkeyAuthenticator(seed) };
}
