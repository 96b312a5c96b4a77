import type { Backend } from "./backend.ts";
import {
  type AgentQuery,
  type Place,
  type ResolveDeps,
  resolvePlace,
  type SessionPlace,
} from "./finding/resolve-place.ts";

export interface OpenDeps {
  openSidecar(place: Place & { type: "sidecar" }): Promise<Backend>;
  openTmux(place: Place & { type: "tmux" }): Promise<Backend>;
  openSession(place: SessionPlace): Promise<Backend>;
}

/**
 * Finds the place with `resolvePlace`, and opens a backend for it. @throws as `resolvePlace` and as the opener of the
 * place
 */
export async function resolveBackend(
  query: AgentQuery,
  deps: ResolveDeps & OpenDeps,
  signal: AbortSignal,
): Promise<{ readonly place: Place | SessionPlace; readonly backend: Backend }> {
  const place = await resolvePlace(query, deps, signal);
  switch (place.type) {
    case "sidecar":
      return { place, backend: await deps.openSidecar(place) };
    case "tmux":
      return { place, backend: await deps.openTmux(place) };
    case "bridge":
      return { place, backend: await deps.openSession(place) };
  }
}
