import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { readCredentials } from "../../../pkg/bridgeclient/auth.ts";
import { type ClientOptions, settingsOf } from "../../../pkg/bridgeclient/options.ts";
import { ownError } from "./bridge-client.ts";

/** The `bridges` block of relay.yaml, by name. Paths are absolute. */
export type BridgesBlock = Readonly<Record<string, BridgeBlock>>;

interface BridgeBlock {
  readonly target: string;
  readonly tls_dir: string;
  readonly jwt_key: string;
  readonly jwt_issuer: string;
  readonly jwt_audience: string;
  readonly project: string;
}

/** The SDK's options for a bridge of relay.yaml. @throws DomainError `invalid` if there is none with this name */
export function clientOptionsOf(bridges: BridgesBlock, name: string): ClientOptions {
  const bridge = Object.hasOwn(bridges, name) ? bridges[name] : undefined;
  if (bridge === undefined) throw new DomainError("invalid", `bridges has no ${JSON.stringify(name)}`);
  const { target, tls_dir: dir, jwt_key: privateKeyPath, jwt_issuer: issuer, jwt_audience: audience } = bridge;
  return {
    target,
    mtls: { caCertPath: join(dir, "ca.crt"), certPath: join(dir, "tls.crt"), keyPath: join(dir, "tls.key") },
    jwt: { privateKeyPath, issuer, audience, projectId: bridge.project },
  };
}

/** Checks that the files of a bridge can be used now. @throws DomainError `invalid`, naming option or file */
export function checkBridge(bridges: BridgesBlock, name: string): void {
  try {
    const { mtls, jwt } = settingsOf(clientOptionsOf(bridges, name));
    readCredentials(mtls, jwt.privateKeyPath);
  } catch (err) {
    throw ownError(err);
  }
}
