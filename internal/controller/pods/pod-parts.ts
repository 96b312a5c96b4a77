import type { V1EnvFromSource, V1Probe, V1ResourceRequirements, V1SecurityContext } from "@kubernetes/client-node";
import type { EnvSource, Resources } from "./agent-template.ts";

/** A container's part of what Pod Security "restricted" requires, with a read-only root filesystem. */
export function hardened(): V1SecurityContext {
  return { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } };
}

/** Escapes a text for `env`, `command` and `args`, where the kubelet would expand `$(NAME)`. */
export function literal(text: string): string {
  return text.replaceAll("$(", "$$$$(");
}

export function startupProbe(): V1Probe {
  return { ...probe("/livez"), periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 60 };
}

/** Lenient: a probe that kills a container destroys the agent's work. */
export function livenessProbe(initialDelaySeconds?: number): V1Probe {
  const delay = initialDelaySeconds === undefined ? {} : { initialDelaySeconds };
  return { ...probe("/livez"), ...delay, periodSeconds: 20, timeoutSeconds: 10, failureThreshold: 6 };
}

export function readinessProbe(): V1Probe {
  return { ...probe("/readyz"), periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 3 };
}

export function resourcesOf({ requests, limits }: Resources): V1ResourceRequirements {
  return { requests: { ...requests }, limits: { ...limits } };
}

export function envFromOf(sources: readonly EnvSource[]): V1EnvFromSource[] {
  return sources.map(({ type, name, optional }) => {
    const ref = optional ? { name, optional } : { name };
    return type === "secret" ? { secretRef: ref } : { configMapRef: ref };
  });
}

function probe(path: string): V1Probe {
  return { httpGet: { path, port: "health" } };
}
