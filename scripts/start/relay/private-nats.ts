import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createUser } from "@nats-io/nkeys";
import { nkeyAuthenticator } from "@nats-io/transport-node";

/**
 * Creates a key, and a configuration of nats-server with that user alone, in a private folder: any user of the machine
 * can connect to loopback.
 */
export async function privateNats(folder: string) {
  const user = createUser();
  const seed = user.getSeed();
  const [nkey, config] = [join(folder, "relay.nk"), join(folder, "nats.conf")];
  await writeFile(nkey, seed, { mode: 0o600 });
  await writeFile(config, `authorization { users: [{ nkey: ${user.getPublicKey()} }] }\n`, { mode: 0o600 });
  return { nkey, config, authenticator: nkeyAuthenticator(seed) };
}
