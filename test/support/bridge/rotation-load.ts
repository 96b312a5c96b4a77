import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { mintToken } from "../../../internal/auth/mint-token.ts";
import { SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { type SidecarConnection, sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import { startTwoLayerServer } from "../../fakes/two-layer-server.ts";
import { eventually } from "../eventually.ts";
import { type LeafNames, TestCa } from "./certificates.ts";
import { MountedSecret } from "./secret.ts";

export interface RotationLoad {
  readonly callers: number;
  /** The number of complete replacements. */
  readonly rounds: number;
  /** The pause between two steps of a replacement, in which all processes load the changed files. */
  readonly stepMs: number;
}

const SERVER: LeafNames = { ips: ["127.0.0.1"], uris: ["spiffe://town/server"] };
const CLIENT: LeafNames = { uris: ["spiffe://shop/client/app"] };
const TOKEN = { issuer: "shop", subject: "app", project: "p", audience: "bridge", ttlMs: 120_000 };

/**
 * Replaces leaf, key, CA, token key and revocation list of a server with two layers, repeatedly, each in the order of
 * `docs/security.md`, while callers call one after the other over connections that follow the changes.
 */
export async function rotateUnderLoad({ callers, rounds, stepMs }: RotationLoad) {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-rotation-"));
  stack.defer(() => rm(dir, { recursive: true }));
  const world = { own: new TestCa("town"), shop: new TestCa("shop"), key: generateKeyPairSync("ed25519") };
  const keyFile = join(dir, "shop.pub");
  const putKeys = async (...keys: KeyObject[]) => {
    await writeFile(`${keyFile}.new`, keys.map((key) => key.export({ type: "spki", format: "pem" })).join(""));
    await rename(`${keyFile}.new`, keyFile);
  };
  await putKeys(world.key.publicKey);
  const bundle = (...cas: string[]) => cas.join("");
  let trusted = bundle(world.own.pem, world.own.crossSign(world.shop));
  let serving = world.own.issue(SERVER);
  const secret = stack.use(await MountedSecret.create({ ...serving, ca: trusted }));
  const put = async (crl?: string) => {
    await secret.put({ ...serving, ca: trusted, ...(crl !== undefined && { crl }) });
    await sleep(stepMs);
  };
  const rule = { issuer: "shop" };
  const server = stack.use(await startTwoLayerServer({ tlsDir: secret.dir, keyFiles: [{ path: keyFile, rule }] }));
  let clientCas = world.own.pem;
  const clientTls = () => ({ ...world.shop.issue(CLIENT), ca: clientCas });
  const connect = (key: () => KeyObject) =>
    sidecarTransport({ baseUrl: server.url, tls: clientTls(), interceptors: [authorizing(key)] });
  const connections = Array.from({ length: callers }, () => stack.use(connect(() => world.key.privateKey)));
  const renewClients = async () => {
    for (const connection of connections) connection.setTls(clientTls());
    await sleep(stepMs);
  };
  const load = callOnAndOn(connections);
  for (let round = 0; round < rounds; round++) {
    serving = world.own.issue(SERVER); // leaf and key
    await put();
    await renewClients();
    const nextKey = generateKeyPairSync("ed25519"); // token key: both, sign with the new one, the new one alone
    await putKeys(world.key.publicKey, nextKey.publicKey);
    await untilAccepted(connect(() => nextKey.privateKey));
    world.key = nextKey;
    await load.currentCalls(); // they carry tokens of the old key
    await putKeys(nextKey.publicKey);
    await sleep(stepMs);
    const [own, shop] = [new TestCa(`town-${round}`), world.shop]; // our CA: both, the server's leaf, the old one out
    const both = bundle(world.own.pem, own.pem);
    clientCas = both;
    trusted = bundle(both, world.own.crossSign(shop), own.crossSign(shop));
    await put();
    await renewClients();
    serving = own.issue(SERVER);
    await put();
    world.own = own;
    trusted = bundle(own.pem, own.crossSign(shop));
    await put();
    clientCas = own.pem;
    await renewClients();
    await put(own.revoke([own.issue(CLIENT)]) + shop.revoke([shop.issue(CLIENT)])); // revocation lists
    await put(own.revoke([]));
  }
  return await load.end();
}

function authorizing(key: () => KeyObject): Interceptor {
  return (next) => (req) => {
    req.header.set("authorization", `Bearer ${mintToken(key(), TOKEN, Date.now())}`);
    return next(req);
  };
}

/** Waits until the server takes the connection's token, and closes the connection. */
async function untilAccepted(connection: SidecarConnection): Promise<void> {
  using own = connection;
  const { peek } = createClient(SidecarService, own.transport);
  const isAccepted = () =>
    peek({}, { timeoutMs: 30_000 }).then(
      () => true,
      () => false,
    );
  await eventually("the server takes the new token key", isAccepted);
}

function callOnAndOn(connections: readonly SidecarConnection[]) {
  const stop = { asked: false };
  const failed: string[] = [];
  const calls = connections.map(() => 0);
  const running = connections.map(async ({ transport }, i) => {
    const client = createClient(SidecarService, transport);
    for (; !stop.asked; calls[i] = (calls[i] ?? 0) + 1)
      await client.peek({}, { timeoutMs: 30_000 }).catch((err) => failed.push(String(err)));
  });
  return {
    /** Waits until the calls of this moment have ended. */
    async currentCalls() {
      const before = [...calls];
      const haveEnded = () => calls.every((count, i) => count > (before[i] ?? 0));
      await eventually("the calls of this moment have ended", haveEnded, 60_000);
    },
    async end() {
      stop.asked = true;
      await Promise.all(running);
      return { calls: calls.reduce((sum, count) => sum + count, 0), failed };
    },
  };
}
