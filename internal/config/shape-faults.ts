import type { z } from "zod";
import { nearestName } from "../cli/nearest-name.ts";
import { KEY_SEPARATOR } from "./block.ts";
import type { ConfigDocument, KeyPath } from "./config-document.ts";
import type { ConfigFault } from "./config-fault.ts";

type Issue = z.core.$ZodIssue;

/** The schema's issues as faults at the document's lines. */
export function shapeFaults(document: ConfigDocument, issues: readonly Issue[]): readonly ConfigFault[] {
  return issues.flatMap((issue) => faultsOf(document, issue, issue.path as KeyPath));
}

function faultsOf(document: ConfigDocument, issue: Issue, path: KeyPath): readonly ConfigFault[] {
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = issue.message.split(KEY_SEPARATOR);
      return issue.keys.map((key) => fault(document, [...path, key], unknownKey(key, known)));
    }
    case "invalid_key":
      return [fault(document, path, issue.issues[0]?.message ?? issue.message)];
    case "invalid_union": {
      const closest = closestOf(issue.errors);
      if (closest.length === 0) return [fault(document, path, issue.message)];
      return closest.flatMap((inner) => faultsOf(document, inner, [...path, ...(inner.path as KeyPath)]));
    }
    default:
      return [fault(document, path, issue.message)];
  }
}

/** The faults of the form that was probably meant, where a value may have several forms. */
function closestOf(forms: readonly (readonly Issue[])[]): readonly Issue[] {
  const distance = (issues: readonly Issue[]) => issues.length + (issues.some(isOtherType) ? 1000 : 0);
  return forms.toSorted((one, other) => distance(one) - distance(other))[0] ?? [];
}

function isOtherType({ code, path }: Issue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}

/** A fault of the key at `path`, at its line or, if it is not set, at that of the nearest block above it. */
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
  return `is not known here; the known keys are ${known.join(", ")}`;
}
