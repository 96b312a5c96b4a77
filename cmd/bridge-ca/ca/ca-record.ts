import type { X509Certificate } from "node:crypto";
import { join } from "node:path";
import {
  type CaState,
  type IssuedCertificate,
  NEW_CA_STATE,
  parseState,
  pruned,
  stateText,
} from "../../../internal/pki/ca-state.ts";
import { pathExists } from "../files/file-errors.ts";
import { readFile } from "../files/read-files.ts";
import { type FileLocation, locationOf, privateFile, writeFiles } from "../files/write-files.ts";
import type { CaContext } from "./context.ts";

/** The place of a CA's state file, beside its key: `ca.key` has `ca.state.json`. */
export function statePlace(caKey: string): FileLocation {
  const { folder, name } = locationOf(caKey);
  return { folder, name: `${name.replace(/\.(?:key|pem)$/, "")}.state.json` };
}

/** The state of a CA; empty for a CA without a state file, which has signed nothing yet. The folder must be locked. */
export function readState(caKey: string): CaState {
  const { folder, name } = statePlace(caKey);
  const path = join(folder, name);
  if (!pathExists(path)) return NEW_CA_STATE;
  return parseState(readFile(path).text, path);
}

/** Replaces the state of a CA. The folder must be locked. */
export function writeState(context: CaContext, caKey: string, state: CaState): void {
  const { folder, name } = statePlace(caKey);
  const text = stateText(pruned(state, context.clock.now()));
  writeFiles(context, folder, [privateFile(name, text)], "replace");
}

/**
 * Records a certificate as issued by the CA. Call it before the certificate is handed out; the folder must be locked.
 */
export function recordIssued(
  context: CaContext,
  caKey: string,
  certificate: X509Certificate,
  { name, type }: Pick<IssuedCertificate, "name" | "type">,
): void {
  const state = readState(caKey);
  const entry = { serial: certificate.serialNumber, name, type, notAfter: certificate.validToDate.getTime() };
  writeState(context, caKey, { ...state, issued: [...state.issued, entry] });
}
