import { dirname, isAbsolute, join } from "node:path";
import { parse } from "yaml";
import { DomainError, errorText } from "../../base/errors.ts";
import { asObjects, asText, type Json, objectOf } from "../../base/json-fields.ts";
import { isMissing, readNamedInput } from "../../files/named-file.ts";

/** Kubeconfig files, merged the way kubectl merges them: the first entry of each name wins. */
export interface MergedConfig {
  /** The paths of the files, joined by colons, for use in messages. */
  readonly paths: string;
  readonly current: string;
  readonly contexts: ReadonlyMap<string, Json>;
  readonly clusters: ReadonlyMap<string, Json>;
  readonly users: ReadonlyMap<string, Json>;
  /** Returns the folder of the file that defines the entry: the base of its relative paths. */
  folderOf(entry: Json): string;
}

/**
 * Reads the files that exist. Paths of certificates, keys and tokens are made absolute.
 * @throws DomainError `precondition` if none exists; `invalid` for one that cannot be read
 */
export async function readMergedConfig(paths: readonly string[]): Promise<MergedConfig> {
  const folders = new Map<Json, string>();
  const tables = {
    contexts: new Map<string, Json>(),
    clusters: new Map<string, Json>(),
    users: new Map<string, Json>(),
  };
  let current = "";
  let found = 0;
  for (const path of paths) {
    const config = await read(path);
    if (config === undefined) continue;
    found++;
    current ||= asText(config["current-context"]);
    for (const [kind, table] of Object.entries(tables)) {
      for (const named of asObjects(config[kind])) {
        const name = asText(named["name"]);
        if (name === "" || table.has(name)) continue;
        const entry = withAbsolutePaths(objectOf(named[kind.slice(0, -1)]), dirname(path));
        table.set(name, entry);
        folders.set(entry, dirname(path));
      }
    }
  }
  if (found === 0) throw noFile(paths);
  return { ...tables, current, paths: paths.join(":"), folderOf: (entry) => folders.get(entry) ?? "." };
}

const PATHS = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

function withAbsolutePaths(entry: Json, folder: string): Json {
  const absolute = PATHS.flatMap((key) => {
    const path = asText(entry[key]);
    return path === "" || isAbsolute(path) ? [] : [[key, join(folder, path)]];
  });
  return { ...entry, ...Object.fromEntries(absolute) };
}

/** Undefined: the file does not exist. */
async function read(path: string): Promise<Json | undefined> {
  try {
    return objectOf(parse(await readNamedInput(path)));
  } catch (err) {
    if (isMissing(err)) return undefined;
    if (err instanceof DomainError) throw err;
    throw new DomainError("invalid", `cannot read the kubeconfig ${path}: ${errorText(err)}`, { cause: err });
  }
}

function noFile(paths: readonly string[]): DomainError {
  const text = paths.length === 0 ? "KUBECONFIG and HOME are not set" : `${paths.join(", ")} does not exist`;
  return new DomainError("precondition", `there is no kubeconfig: ${text}`, {
    fields: { hint: "contexts are defined in a kubeconfig; KUBECONFIG names the file" },
  });
}
