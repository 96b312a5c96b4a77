import type { Provider } from "../../../internal/bridge/provider.ts";
import type { Findings } from "../../../internal/config/findings.ts";

/** Asks each provider whether it is usable now. An unusable one is a warning: the bridge serves the others. */
export async function checkProviders(
  providers: readonly Pick<Provider, "id" | "health">[],
  findings: Findings,
  signal: AbortSignal,
): Promise<void> {
  const asked = providers.map(async (provider) => ({ provider, health: await provider.health(signal) }));
  for (const { provider, health } of await Promise.all(asked)) {
    if (!health.available) findings.warning(["providers", provider.id], `cannot be used now: ${health.error}`);
  }
}
