import { join } from "node:path";
import { DomainError } from "../../base/errors.ts";
import { asText } from "../../base/json-fields.ts";
import type { KubeCredentials } from "./credentials.ts";
import { credentialsOf } from "./kubeconfig.ts";
import { readMergedConfig } from "./merged-config.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A context of a person's kubeconfig. */
export interface KubeContext {
  readonly credentials: KubeCredentials;
  /** The context's namespace; empty: the context sets none. */
  readonly namespace: string;
}

/**
 * The context of that name in the files of KUBECONFIG, merged as by kubectl, or in `~/.kube/config`.
 * @throws DomainError `not-found` if no file has it (the message lists the contexts), and as `credentialsOf`,
 * `readMergedConfig`
 */
export async function kubeContext(name: string, env: Env): Promise<KubeContext> {
  const config = await readMergedConfig(pathsOf(env));
  const context = config.contexts.get(name);
  if (context !== undefined) {
    return { credentials: await credentialsOf(config, name, env), namespace: asText(context["namespace"]) };
  }
  const known = [...config.contexts.keys()];
  const text = known.length === 0 ? "it has none" : `there are: ${known.join(", ")}`;
  throw new DomainError("not-found", `${config.paths} has no context ${JSON.stringify(name)}; ${text}`);
}

function pathsOf(env: Env): readonly string[] {
  const given = (env["KUBECONFIG"] ?? "").split(":").filter((path) => path !== "");
  if (given.length > 0) return given;
  return env["HOME"] ? [join(env["HOME"], ".kube", "config")] : [];
}
