import { generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientOptions } from "../../../pkg/bridgeclient/options.ts";
import { FakeBridge } from "../../fakes/fake-bridge.ts";
import { startTwoLayerServer, type TwoLayerServer } from "../../fakes/two-layer-server.ts";
import { TestCa } from "./certificates.ts";
import { writeTls } from "./secret.ts";

/** A consumer's files for a bridge, as `bridge-ca` would make them. */
export interface ConsumerFiles {
  readonly mtls: ClientOptions["mtls"];
  readonly privateKeyPath: string;
}

/** A bridge without agents behind both layers, and a consumer with its own CA and signing key. */
export class BridgeScene implements AsyncDisposable {
  readonly dir: string;
  readonly bridgeCa = new TestCa("bridge-ca");
  readonly consumerCa = new TestCa("prd-manager");
  readonly bridge = new FakeBridge();
  server!: TwoLayerServer;

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async create(): Promise<BridgeScene> {
    const scene = new BridgeScene(await mkdtemp(join(tmpdir(), "gt-bridge-")));
    const { bridgeCa, consumerCa } = scene;
    const files = bridgeCa.issue({ ips: ["127.0.0.1"], dns: ["localhost"], usages: ["server"] });
    await writeTls(scene.#path("server"), { ...files, ca: bridgeCa.pem + bridgeCa.crossSign(consumerCa) });
    await scene.newSigningKey();
    await scene.newCertificate();
    await scene.serve();
    return scene;
  }

  /** The consumer's own files. */
  get files(): ConsumerFiles {
    const path = (name: string) => this.#path("client", name);
    return {
      mtls: { caCertPath: path("ca.crt"), certPath: path("tls.crt"), keyPath: path("tls.key") },
      privateKeyPath: this.#path("client", "jwt-signing.key"),
    };
  }

  options(more: Partial<ClientOptions> = {}, port = this.server.port): ClientOptions {
    const { mtls, privateKeyPath } = this.files;
    const jwt = { privateKeyPath, issuer: "prd-manager", audience: "bridge", subject: "app", projectId: "p1" };
    return { target: `127.0.0.1:${port}`, mtls, jwt, retry: { firstMs: 10, maxMs: 100 }, ...more };
  }

  /** Starts the server; `port` reuses an earlier port. */
  async serve(port = 0): Promise<void> {
    this.server = await startTwoLayerServer({
      tlsDir: this.#path("server"),
      keyFiles: [{ path: this.#path("prd.pub"), rule: { issuer: "prd-manager" } }],
      routes: () => this.bridge.routes,
      port,
    });
  }

  /** Replaces the consumer's certificate. */
  async newCertificate(): Promise<void> {
    const files = this.consumerCa.issue({ uris: ["spiffe://prd-manager/client/app"] });
    await writeTls(this.#path("client"), { ...files, ca: this.bridgeCa.pem });
  }

  /** Replaces the key that signs tokens, on both sides. */
  async newSigningKey(): Promise<void> {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    await mkdir(this.#path("client"), { recursive: true });
    await writeFile(this.#path("prd.pub"), publicKey.export({ type: "spki", format: "pem" }));
    const pem = privateKey.export({ type: "pkcs8", format: "pem" });
    await writeFile(this.#path("client", "jwt-signing.key"), pem, { mode: 0o600 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await rm(this.dir, { recursive: true, force: true });
  }

  #path(...names: readonly string[]): string {
    return join(this.dir, ...names);
  }
}
