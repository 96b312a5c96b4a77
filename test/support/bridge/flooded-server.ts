import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { mintToken } from "../../../internal/auth/mint-token.ts";
import { SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import { HEAP_FLAGS } from "../../../internal/sidecar/supervisor/serving-processes.ts";
import type { CredentialFlood } from "../../fakes/credential-flood-main.ts";
import { TestCa } from "./certificates.ts";
import { writeTls } from "./secret.ts";

const SERVER = fileURLToPath(new URL("../../fakes/two-layer-main.ts", import.meta.url));
const FLOOD = fileURLToPath(new URL("../../fakes/credential-flood-main.ts", import.meta.url));

const THIEF = "spiffe://shop/client/thief";

/** The fault in the credentials of a flood. */
export type WrongCredentials = "tokens" | "certificates";

/**
 * A server with both layers in its own process, an honest caller, and floods of wrong credentials. Its heap is as large
 * as the serving half's.
 */
export class FloodedServer implements AsyncDisposable {
  readonly #dir: string;
  readonly #own = new TestCa("own");
  readonly #shop = new TestCa("shop");
  readonly #key = generateKeyPairSync("ed25519");
  readonly #honest = this.#shop.issue({ uris: ["spiffe://shop/client/app"] });
  #server: Talking | undefined;
  #url = "";

  private constructor(dir: string) {
    this.#dir = dir;
  }

  static async start(): Promise<FloodedServer> {
    const made = new FloodedServer(await mkdtemp(join(tmpdir(), "gt-flood-")));
    const tlsDir = join(made.#dir, "tls");
    const path = join(made.#dir, "shop.pub");
    const files = made.#own.issue({ ips: ["127.0.0.1"], uris: ["spiffe://own/server"] });
    await writeTls(tlsDir, { ...files, ca: made.#own.pem + made.#own.crossSign(made.#shop) });
    await writeFile(path, made.#key.publicKey.export({ type: "spki", format: "pem" }));
    made.#server = talkTo([...HEAP_FLAGS, SERVER], { tlsDir, keyFiles: [{ path, rule: { issuer: "shop" } }] });
    made.#url = `https://127.0.0.1:${await made.#server.line()}`;
    return made;
  }

  get pid(): number {
    return this.#server?.child.pid ?? 0;
  }

  /**
   * A caller with a good certificate, and with a token that is good or signed by another key; its calls use one
   * connection.
   */
  caller(key = this.#key.privateKey) {
    const token = this.#token(key);
    const tls = key === this.#key.privateKey ? this.#honest : this.#shop.issue({ uris: [THIEF] });
    const connection = sidecarTransport({
      baseUrl: this.#url,
      tls: { ...tls, ca: this.#own.pem },
      interceptors: [
        (next) => (req) => {
          req.header.set("authorization", `Bearer ${token}`);
          return next(req);
        },
      ],
    });
    const client = createClient(SidecarService, connection.transport);
    return { call: () => client.peek({}, { timeoutMs: 20_000 }), [Symbol.dispose]: () => connection[Symbol.dispose]() };
  }

  /** Begins a flood; `many` settles after many attempts, `end` returns their number. */
  async flood(wrong: WrongCredentials): Promise<{ readonly many: Promise<unknown>; end(): Promise<number> }> {
    const isOfShop = wrong === "tokens";
    const { cert, key } = (isOfShop ? this.#shop : new TestCa("shop")).issue({ uris: [THIEF] });
    const request: CredentialFlood = {
      url: this.#url,
      localAddress: "127.0.0.2",
      tls: { cert, key, ca: this.#own.pem },
      token: isOfShop ? this.#token() : undefined,
      ...(isOfShop ? { connections: 4, calls: 16 } : { connections: 16, calls: 1 }),
    };
    const talking = talkTo([FLOOD], request);
    // The flooder stands for other machines: it must not take processor time from the server and its callers.
    setPriority(talking.child.pid ?? 0, constants.priority.PRIORITY_LOW);
    await talking.line();
    const many = talking.line();
    return {
      many,
      async end() {
        await many;
        talking.child.stdin?.end();
        const tried = Number(await talking.line());
        await talking.exited;
        return tried;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server?.child.stdin?.end();
    await this.#server?.exited;
    await rm(this.#dir, { recursive: true });
  }

  #token(key = this.#key.privateKey): string {
    const request = { issuer: "shop", subject: "app", project: "p", audience: "bridge", ttlMs: 300_000 };
    return mintToken(key, request, Date.now());
  }
}

interface Talking {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  line(): Promise<string>;
}

function talkTo(argv: readonly string[], request: object): Talking {
  const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "inherit"] });
  const lines: AsyncIterator<string> = (createInterface(child.stdout as NodeJS.ReadableStream) as Interface)[
    Symbol.asyncIterator
  ]();
  child.stdin?.write(`${JSON.stringify(request)}\n`);
  const line = async () => String((await lines.next()).value);
  return { child, exited: once(child, "exit"), line };
}
