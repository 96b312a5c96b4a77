import { createPublicKey, type KeyObject } from "node:crypto";
import { dirname } from "node:path";
import { within } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { DomainError, errorText } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { Task } from "../base/task-group.ts";
import { isMissing, readNamedFile } from "../files/named-file.ts";
import { readPem } from "../pki/explain-pem.ts";
import { pemBlocks } from "../pki/pem.ts";
import type { IssuerRule } from "./issuing-cas.ts";
import { watchFolders } from "./tls/folder-watch.ts";
import type { TokenKey, TokenKeySet } from "./token-verifier.ts";

/** A file with an issuer's public keys: one PEM block (`PUBLIC KEY`, Ed25519) each. */
export interface TokenKeyFile {
  readonly path: string;
  readonly rule: IssuerRule;
}

export interface TokenKeyFilesDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the keys in use have changed. */
  readonly onChanged?: () => void;
}

export interface TokenKeyFilesOptions {
  readonly files: readonly TokenKeyFile[];
  /** How often to check without a notification. Default 30 s. */
  readonly pollMs?: number;
  /** Delay between a change and the check, so that related files are all written. Default 200 ms. */
  readonly settleMs?: number;
}

interface Loaded {
  readonly text: string;
  readonly keys: readonly TokenKey[];
}

const GONE: Loaded = { text: "", keys: [] };

/**
 * The public keys that verify tokens, from files that may change. An added key is valid from then on; a key that is
 * removed, alone or with its file, is no longer valid. While a file cannot be read or contains no key, the keys read
 * from it before stay in use.
 */
export class TokenKeyFiles implements Task {
  readonly #deps: TokenKeyFilesDeps;
  readonly #options: TokenKeyFilesOptions;
  readonly #loaded = new Map<TokenKeyFile, Loaded>();
  #refused = "";
  #taken: string | undefined;
  #current: TokenKeySet = new Map();

  constructor(deps: TokenKeyFilesDeps, options: TokenKeyFilesOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The keys in use; the same object until they change. */
  get current(): TokenKeySet {
    return this.#current;
  }

  /** Call before `run`. @throws DomainError `invalid`, naming the file that cannot be used */
  async load(): Promise<void> {
    for (const file of this.#options.files) this.#loaded.set(file, await readKeys(file));
    this.#take();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { files, pollMs = 30_000, settleMs = 200 } = this.#options;
    const folders = [...new Set(files.map(({ path }) => dirname(path)))];
    while (!signal.aborted) {
      using watch = watchFolders(folders);
      await this.#look();
      await within(this.#deps.clock, pollMs, watch.changed, signal);
      await this.#deps.clock.sleep(settleMs, signal).catch(() => {});
    }
  }

  async #look(): Promise<void> {
    const faults: string[] = [];
    for (const file of this.#options.files) {
      try {
        this.#loaded.set(file, await readKeys(file));
      } catch (err) {
        if (isMissing(err)) this.#loaded.set(file, GONE);
        faults.push(errorText(err));
      }
    }
    if (faults.join() !== this.#refused && faults.length > 0) {
      this.#deps.logger.warn(
        { faults },
        "a token key file cannot be used: the keys read from it before stay in use, unless the file was removed",
      );
    }
    this.#refused = faults.join();
    this.#take();
  }

  #take(): void {
    const text = JSON.stringify([...this.#loaded.values()].map((loaded) => loaded.text));
    if (text === this.#taken) return;
    this.#taken = text;
    const byIssuer = new Map<string, TokenKey[]>();
    for (const { keys } of this.#loaded.values()) {
      for (const key of keys)
        byIssuer.set(key.rule.issuer, [...(byIssuer.get(key.rule.issuer) ?? []), this.#known(key)]);
    }
    this.#current = byIssuer;
    const counts = Object.fromEntries([...byIssuer].map(([issuer, keys]) => [issuer, keys.length]));
    this.#deps.logger.info({ keys: counts }, "token keys in use");
    this.#deps.onChanged?.();
  }

  /**
   * Returns the equal key that is already in use, if there is one, so that tokens verified with that key stay valid.
   */
  #known(key: TokenKey): TokenKey {
    const same = this.#current.get(key.rule.issuer)?.find((one) => one.rule === key.rule && one.key.equals(key.key));
    return same ?? key;
  }
}

async function readKeys({ path, rule }: TokenKeyFile): Promise<Loaded> {
  const text = await readNamedFile(path);
  return { text, keys: publicKeysOf(text, path).map((key) => ({ rule, key })) };
}

/** The keys of a PEM text. @throws DomainError `invalid`, naming the file, unless all are public Ed25519 keys */
export function publicKeysOf(text: string, path: string): readonly KeyObject[] {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    const hint = `give the public one: openssl pkey -in ${path} -pubout -out NEW.pub`;
    throw new DomainError("invalid", `${path} contains a private key: only its issuer may have it`, {
      fields: { hint },
    });
  }
  const keys = readPem(text, "public-key", path, publicKeysIn);
  if (keys.some(({ asymmetricKeyType }) => asymmetricKeyType !== "ed25519")) {
    throw new DomainError("invalid", `${path} contains a key that is not Ed25519`);
  }
  return keys;
}

function publicKeysIn(text: string): readonly KeyObject[] {
  const keys = pemBlocks(text, "PUBLIC KEY").map((key) => createPublicKey({ key, format: "der", type: "spki" }));
  if (keys.length === 0) throw new DomainError("invalid", "no public key in it");
  return keys;
}
