import { checkAgentTokenKey } from "../../internal/auth/agent-token-block.ts";
import { type AuthConfig, openAuth } from "../../internal/auth/auth-config.ts";
import { openConfigFile } from "../../internal/config/config-file.ts";
import type { Findings } from "../../internal/config/findings.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import { certificatesOf } from "../../internal/pki/pem.ts";
import { controllerFile } from "./config-schema.ts";
import { type ControllerConfig, configOf } from "./controller-config.ts";

/** The configuration together with the token keys that it names. */
export interface OpenedConfig extends ControllerConfig {
  readonly tokens: AuthConfig;
}

/** Without the block `auth`, no token is accepted. */
const NO_TOKENS: AuthConfig = { keyFiles: [], audience: "bridge", maxTtlMs: 300_000, clockSkewMs: 30_000 };

/**
 * Opens the configuration file and the files that it names. If `findings` has a fault, the configuration must not be
 * used.
 * @throws as `openConfigFile`
 */
export function openConfig(path: string): { readonly config: OpenedConfig; readonly findings: Findings } {
  const { value, findings } = openConfigFile(path, controllerFile);
  const config = configOf(value);
  const { sessionTokens } = config.settings;
  if (sessionTokens !== undefined) checkAgentTokenKey(sessionTokens, ["session_tokens"], findings);
  const { caPath } = config.settings.threads ?? {};
  if (caPath !== undefined)
    findings.tried(["session_tokens", "ca_path"], () => certificatesOf(readNamedFileSync(caPath)));
  const tokens = value.auth === undefined ? NO_TOKENS : openAuth(value.auth, ["auth"], findings);
  return { config: { ...config, tokens }, findings };
}
