import type { z } from "zod";
import { nearestName } from "../../../internal/cli/nearest-name.ts";
import type { ConfigDocument, KeyPath } from "./config-document.ts";
import type { ConfigFault } from "./config-fault.ts";
import { KEY_SEPARATOR } from "./values.ts";

/** What the schema says of a document, as faults of its lines. */
export function shapeFaults(document: ConfigDocument, issues: readonly z.core.$ZodIssue[]): readonly ConfigFault[] {
  return issues.flatMap((issue) => {
    const path = issue.path as KeyPath;
    if (issue.code !== "unrecognized_keys") return [fault(document, path, issue.message)];
    const known = issue.message.split(KEY_SEPARATOR);
    return issue.keys.map((key) => fault(document, [...path, key], unknownKey(key, known)));
  });
}

export function fault(document: ConfigDocument, path: KeyPath, reason: string): ConfigFault {
  return { line: document.lineOf(path), key: keyText(path), reason };
}

/** `auth.jwt_public_keys[0].issuer` */
function keyText(path: KeyPath): string {
  return path.map((part, i) => (typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${part}`)).join("");
}

function unknownKey(key: string, known: readonly string[]): string {
  const nearest = nearestName(key, known);
  if (nearest !== undefined) return `is not known here; did you mean ${nearest}?`;
  return `is not known here; known are ${known.join(", ")}`;
}
