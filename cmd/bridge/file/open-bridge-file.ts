import { dirname, resolve } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { type BridgeFile, readBridgeFile } from "./read-bridge-file.ts";
import { readText } from "./read-text.ts";

const MAX_BYTES = 1024 * 1024;

/**
 * Reads the configuration file at `path`.
 * @throws ConfigError with every fault; DomainError `invalid` when there is no such file
 */
export function openBridgeFile(path: string): BridgeFile {
  const text = readText(path);
  if (text.length > MAX_BYTES) throw new DomainError("invalid", `${path} is larger than ${MAX_BYTES} bytes`);
  return readBridgeFile(text, { file: path, folder: dirname(resolve(path)), readText });
}
