import { dirname, resolve } from "node:path";
import { z } from "zod";
import { DomainError } from "../base/errors.ts";
import { readNamedFileSync } from "../files/named-file.ts";
import { ConfigDocument, type KeyPath } from "./config-document.ts";
import { ConfigError } from "./config-fault.ts";
import { defaultWording } from "./default-wording.ts";
import { Findings } from "./findings.ts";
import { fault, shapeFaults } from "./shape-faults.ts";

/** The limit of the configuration itself; files that it names have limits of their own. */
const MAX_BYTES = 1024 * 1024;

/** The schema of a file. Relative paths in it are relative to `folder`, an absolute path. */
export type ConfigSchema<T> = (folder: string) => z.ZodType<T>;

/** A configuration whose text has no fault. */
export interface ConfigFile<T> {
  readonly value: T;
  /**
   * Takes faults and warnings about the things that `value` names: unreadable files, values that do not fit each other.
   */
  readonly findings: Findings;
  /** True if the text itself sets this key; false if its value is a default. */
  readonly has: (path: KeyPath) => boolean;
}

/**
 * Opens the configuration file at `path`: YAML 1.2, up to 1 MiB.
 *
 *     const schema = (folder: string) =>
 *       block({
 *         listen: address().default({ host: "127.0.0.1", port: 9447 }),
 *         retention: duration("1m", "168h").default(600_000), // a number of milliseconds
 *         max_body: byteCount(1, 1_048_576).default(65_536), // 65536, or 64KiB
 *         key_path: filePath(folder), // absolute
 *         auth: authBlock(folder), // internal/auth/auth-config.ts
 *       });
 *
 *     const { value, findings } = openConfigFile("threads.yaml", schema);
 *     findings.tried(["key_path"], () => signingKeyOf(readNamedFileSync(value.key_path), value.key_path));
 *     const auth = openAuth(value.auth, ["auth"], findings);
 *     findings.assertUsable(); // throws ConfigError, as openConfigFile does
 *
 * A key that is not in the schema is a fault that names the nearest one. `together` checks keys that must fit each
 * other. `reportConfig` is the command `check`; `runMain` prints the lines of a ConfigError.
 *
 * @throws ConfigError with every fault of the text, by line; DomainError `invalid` when the file cannot be read
 */
export function openConfigFile<T>(path: string, schema: ConfigSchema<T>): ConfigFile<T> {
  const text = readNamedFileSync(path);
  if (text.length > MAX_BYTES) throw new DomainError("invalid", `${path} is larger than ${MAX_BYTES} bytes`);
  return readConfigText(text, schema, { file: path, folder: dirname(resolve(path)) });
}

/** Like `openConfigFile`, but for a text. `file` is its name in faults. */
export function readConfigText<T>(
  text: string,
  schema: ConfigSchema<T>,
  { file, folder }: { readonly file: string; readonly folder: string },
): ConfigFile<T> {
  const document = new ConfigDocument(text);
  if (document.faults.length > 0) throw new ConfigError(file, document.faults);
  const read = z.safeParse(schema(folder), document.value, { error: defaultWording });
  if (!read.success) throw new ConfigError(file, shapeFaults(document, read.error.issues));
  const findings = new Findings(file, (path, reason) => fault(document, path, reason));
  return { value: read.data, findings, has: (path) => document.has(path) };
}
