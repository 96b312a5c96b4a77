import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { readCredentials } from "../../../pkg/bridgeclient/auth.ts";
import { type ClientOptions, settingsOf } from "../../../pkg/bridgeclient/options.ts";
import type { RelayValues } from "../schema.ts";
import { ownError } from "./bridge-client.ts";

/** How the SDK reaches a bridge of relay.yaml. @throws DomainError `invalid` when there is none of this name */
export function clientOptionsOf(bridges: RelayValues["bridges"], name: string): ClientOptions {
  const bridge = Object.hasOwn(bridges, name) ? bridges[name] : undefined;
  if (bridge === undefined) throw new DomainError("invalid", `bridges has no ${JSON.stringify(name)}`);
  const { target, tls_dir: dir, jwt_key: privateKeyPath, jwt_issuer: issuer, jwt_audience: audience } = bridge;
  return {
    target,
    mtls: { caCertPath: join(dir, "ca.crt"), certPath: join(dir, "tls.crt"), keyPath: join(dir, "tls.key") },
    jwt: { privateKeyPath, issuer, audience, projectId: bridge.project },
  };
}

/** Finds out whether the files of a bridge can be used now. @throws DomainError `invalid`, naming option or file */
export function checkBridge(bridges: RelayValues["bridges"], name: string): void {
  try {
    const { mtls, jwt } = settingsOf(clientOptionsOf(bridges, name));
    readCredentials(mtls, jwt.privateKeyPath);
  } catch (err) {
    throw ownError(err);
  }
}
