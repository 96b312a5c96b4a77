import { withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Provider, ProviderHealth } from "../provider.ts";
import type { ProviderInfo } from "../session-backend.ts";

/** A provider that has not answered within this time is not available. */
const HEALTH_MS = 3000;
/** Overviews accept an answer of up to this age. */
const FRESH_MS = 5000;

interface Asked {
  readonly answer: Promise<ProviderHealth>;
  /** Monotonic, ms; undefined until the answer has arrived. */
  answeredAt: number | undefined;
}

/** The configured providers. Checks the health of each provider at most once at a time, with a time-out. */
export class ProviderRegistry {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #asked = new Map<string, Asked>();

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }, providers: readonly Provider[]) {
    this.#deps = deps;
    this.#providers = new Map(providers.map((provider) => [provider.id, provider]));
  }

  /** @throws DomainError `invalid` for a provider that is not configured */
  get(name: string): Provider {
    const provider = this.#providers.get(name);
    if (provider !== undefined) return provider;
    const fields = { known: [...this.#providers.keys()].toSorted().join(", ") };
    throw new DomainError("invalid", `no provider ${JSON.stringify(name.slice(0, 64))} is configured here`, { fields });
  }

  /** Checks the provider now. @throws DomainError `precondition` if it cannot be used */
  async check(provider: Provider): Promise<void> {
    const { available, error } = await this.#health(provider, 0);
    if (!available) throw new DomainError("precondition", `the provider ${provider.id} cannot be used: ${error}`);
  }

  /** All providers, sorted by name, with a health check at most FRESH_MS old. */
  async list(): Promise<readonly ProviderInfo[]> {
    const all = [...this.#providers.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return Promise.all(
      all.map(async (provider) => {
        const { id, binary, capabilities } = provider;
        return { provider: id, binary, capabilities, ...(await this.#health(provider, FRESH_MS)) };
      }),
    );
  }

  #health(provider: Provider, freshMs: number): Promise<ProviderHealth> {
    const { clock } = this.#deps;
    const before = this.#asked.get(provider.id);
    if (before !== undefined) {
      const { answeredAt = clock.monotonicMs() + 1 } = before;
      if (clock.monotonicMs() - answeredAt < freshMs) return before.answer;
    }
    const asked: Asked = { answer: this.#ask(provider), answeredAt: undefined };
    this.#asked.set(provider.id, asked);
    void asked.answer.then(() => {
      asked.answeredAt = clock.monotonicMs();
    });
    return asked.answer;
  }

  async #ask(provider: Provider): Promise<ProviderHealth> {
    const { clock, logger } = this.#deps;
    const late = new AbortController();
    try {
      return await withTimeout(clock, HEALTH_MS, `the provider ${provider.id}`, provider.health(late.signal));
    } catch (err) {
      if (!(err instanceof DomainError)) logger.error({ err, provider: provider.id }, "a provider's health failed");
      return { available: false, error: err instanceof DomainError ? err.message : "internal error", version: "" };
    } finally {
      late.abort();
    }
  }
}
