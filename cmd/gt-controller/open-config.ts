import { dirname, isAbsolute, join } from "node:path";
import { type AuthConfig, readAuthConfig } from "../../internal/auth/auth-config.ts";
import { signingKeyOf } from "../../internal/auth/mint-token.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import type { ControllerSettings } from "../../internal/controller/pods/settings.ts";
import { readRegularFileSync } from "../../internal/files/regular-file.ts";
import { type ControllerConfig, readControllerConfig } from "./controller-config.ts";

/** The configuration with what it names. */
export interface OpenedConfig extends ControllerConfig {
  readonly tokens: AuthConfig;
}

/** Without the block `auth`, no token is accepted. */
const NO_TOKENS: AuthConfig = { keyFiles: [], audience: "bridge", maxTtlMs: 300_000, clockSkewMs: 30_000 };

/** @throws DomainError `invalid` with `FILE:LINE: …` */
export function openConfig(path: string): OpenedConfig {
  const config = readControllerConfig(textOf(path), path);
  const place = (name: string) => (isAbsolute(name) ? name : join(dirname(path), name));
  const tokens = config.auth === undefined ? NO_TOKENS : readAuthConfig(config.auth, (name) => textOf(place(name)));
  const keyFiles = tokens.keyFiles.map((file) => ({ ...file, path: place(file.path) }));
  const settings = placed(config.settings, place);
  return { ...config, settings, tokens: { ...tokens, keyFiles } };
}

/** The settings with the absolute path of the key that agents' tokens are signed with, which must be one. */
function placed(settings: ControllerSettings, place: (name: string) => string): ControllerSettings {
  const { sessionTokens } = settings;
  if (sessionTokens === undefined) return settings;
  const keyPath = place(sessionTokens.keyPath);
  signingKeyOf(textOf(keyPath), keyPath);
  return { ...settings, sessionTokens: { ...sessionTokens, keyPath } };
}

function textOf(path: string): string {
  try {
    return readRegularFileSync(path);
  } catch (err) {
    throw new DomainError("invalid", `cannot read ${path}: ${errorText(err)}`, { cause: err });
  }
}
