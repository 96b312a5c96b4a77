import { join } from "node:path";
import { DomainError } from "../../base/errors.ts";
import { asObjects, asText, type Json } from "../../base/json-fields.ts";
import type { Credentials } from "./credentials.ts";
import { kubeconfigCredentials, namedIn, readKubeconfig } from "./kubeconfig.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A context of a person's kubeconfig. */
export interface KubeContext {
  readonly credentials: Credentials;
  /** Its namespace; empty: it names none. */
  readonly namespace: string;
}

/**
 * The context of that name: of the first file of KUBECONFIG, else of `~/.kube/config`, that has it, with its cluster
 * and user in the same file.
 * @throws DomainError `not-found` when no file has it (the message lists what exists), and as `kubeconfigCredentials`
 */
export async function kubeContext(name: string, env: Env): Promise<KubeContext> {
  const paths = pathsOf(env);
  const known: string[] = [];
  let missing = 0;
  for (const path of paths) {
    const config = await read(path);
    if (config === undefined) missing++;
    const context = config && namedIn(config, "context", name);
    if (context !== undefined) {
      return { credentials: await kubeconfigCredentials(path, name, env), namespace: asText(context["namespace"]) };
    }
    known.push(...asObjects(config?.["contexts"]).map((one) => asText(one["name"])));
  }
  if (missing === paths.length) throw noFile(paths);
  const text = known.length === 0 ? "it has none" : `there are: ${known.join(", ")}`;
  throw new DomainError("not-found", `${paths.join(":")} has no context ${JSON.stringify(name)}; ${text}`);
}

function pathsOf(env: Env): readonly string[] {
  const given = (env["KUBECONFIG"] ?? "").split(":").filter((path) => path !== "");
  if (given.length > 0) return given;
  return env["HOME"] ? [join(env["HOME"], ".kube", "config")] : [];
}

/** Undefined: there is no such file. */
async function read(path: string): Promise<Json | undefined> {
  try {
    return await readKubeconfig(path);
  } catch (err) {
    if ((err as { cause?: NodeJS.ErrnoException }).cause?.code === "ENOENT") return undefined;
    throw err;
  }
}

function noFile(paths: readonly string[]): DomainError {
  const text = paths.length === 0 ? "KUBECONFIG and HOME are not set" : `${paths.join(", ")} does not exist`;
  return new DomainError("precondition", `there is no kubeconfig: ${text}`, {
    fields: { hint: "contexts are defined in a kubeconfig; KUBECONFIG names the file" },
  });
}
