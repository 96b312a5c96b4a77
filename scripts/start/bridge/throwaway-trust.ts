import { X509Certificate } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newAuthority } from "../../../internal/pki/authority.ts";
import { newKeyPair, newTokenKeyPair, privateKeyPem, publicKeyPem } from "../../../internal/pki/key-pair.ts";
import { type LeafOptions, newLeaf } from "../../../internal/pki/leaf.ts";
import { writeProfiles } from "../../../internal/terminal/places/profile-file.ts";

/** The name of the only caller, which is in its certificate and is also its token issuer and its project. */
export const CALLER = "tour";

const DAYS = 7;

/** The files of a bridge and of its caller, all in one folder. */
export interface TourFiles {
  readonly config: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly tokenKey: string;
  /** The folder to use as `XDG_CONFIG_HOME` for `gt`, with a profile that leads to this bridge. */
  readonly profiles: string;
  /** A folder in which agents may work. */
  readonly repo: string;
}

/**
 * Makes a CA, the bridge's certificate, a caller with a certificate and a token key, and a `bridge.yaml`, in `folder`.
 * The CA's key is not stored.
 * @param now wall clock, ms
 */
export async function throwawayTrust(folder: string, port: number, now: number): Promise<TourFiles> {
  const at = (name: string) => join(folder, name);
  const keys = await newKeyPair("ecdsa-p384");
  const ca = newAuthority(keys, { name: "bridge-tour", trustDomain: "bridge-tour", days: DAYS, now });
  const signer = { certificate: new X509Certificate(ca), key: keys.privateKey };
  const issue = async (type: LeafOptions["type"], name: string, hosts: readonly string[]) => {
    const pair = await newKeyPair("ecdsa-p384");
    const usual = { uris: [], trustDomain: undefined, namespace: "default", crlUrl: undefined, days: DAYS, now };
    await writeFile(at(`${name}.key`), privateKeyPem(pair.privateKey), { mode: 0o600 });
    await writeFile(at(`${name}.crt`), newLeaf({ type, name, hosts, ...usual }, pair.publicKey, signer));
  };
  await writeFile(at("ca.crt"), ca);
  await issue("server", "localhost", ["127.0.0.1"]);
  await issue("client", CALLER, []);
  const token = await newTokenKeyPair();
  await writeFile(at("token.key"), privateKeyPem(token.privateKey), { mode: 0o600 });
  await writeFile(at("token.pub"), publicKeyPem(token.publicKey));
  await mkdir(at("repo"));
  await writeFile(at("bridge.yaml"), configText(folder, port));
  const files = { ca: at("ca.crt"), cert: at(`${CALLER}.crt`), key: at(`${CALLER}.key`), tokenKey: at("token.key") };
  writeProfile(at("config"), port, files);
  return { ...files, config: at("bridge.yaml"), profiles: at("config"), repo: at("repo") };
}

function writeProfile(folder: string, port: number, files: Pick<TourFiles, "ca" | "cert" | "key" | "tokenKey">): void {
  const { tokenKey, ...tls } = files;
  const token = { "jwt-key": tokenKey, "jwt-issuer": CALLER, project: CALLER };
  const profile = { server: `127.0.0.1:${port}`, ...tls, ...token };
  writeProfiles({ XDG_CONFIG_HOME: folder }, { current: CALLER, profiles: { [CALLER]: profile } });
}

function configText(folder: string, port: number): string {
  return `server:
  listen: "127.0.0.1:${port}"
  health_listen: "127.0.0.1:0"
  state_dir: "state"
tls:
  ca_bundle: "ca.crt"
  cert: "localhost.crt"
  key: "localhost.key"
auth:
  jwt_public_keys:
    - issuer: "${CALLER}"
      key_path: "token.pub"
audit:
  path: "audit.log"
providers:
  demo: {}
allowed_paths:
  - ${JSON.stringify(folder)}
logging:
  level: "warn"
`;
}
