import { DomainError } from "../base/errors.ts";

/** Permissions of a caller; each role includes the ones before it. */
export type Role = "read" | "nudge" | "operate";

const ROLES: readonly Role[] = ["read", "nudge", "operate"];

/**
 * Assigns a role to a SPIFFE id, or to `<SHA-256 of a CA>/<CN>` for a certificate without one. A segment `*` matches
 * any single segment that is not empty.
 */
export interface RoleRule {
  readonly pattern: string;
  readonly role: Role;
}

const BY_CA = /^(?:[0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}\/(?:[\w.!~*'()-]|%[0-9A-F]{2})+$/;

/**
 * Parses `spiffe://DOMAIN/PATH=ROLE` and `SHA256/CN=ROLE`; the SHA-256 of the CA may contain colons.
 * @throws DomainError `invalid` for any other text
 */
export function parseRoleRule(text: string): RoleRule {
  const [pattern = "", role = "", ...rest] = text.split("=");
  const isKnown = rest.length === 0 && isRole(role);
  if (isKnown && /^spiffe:\/\/[^/*]+(?:\/[^/]+)+$/.test(pattern)) return { pattern, role };
  if (isKnown && BY_CA.test(pattern)) return { pattern: plainByCa(pattern), role };
  throw new DomainError("invalid", `not a rule for callers: ${JSON.stringify(text)}`, {
    fields: {
      hint: "write spiffe://domain/path=read, =nudge or =operate; * matches one segment of the path; for a certificate without a URI name write CA-SHA256/CN, as in the audit log",
    },
  });
}

/**
 * The default rule of a sidecar: the controllers of its own trust domain, which its identities name, may do everything.
 */
export function controllerRule(ownIdentities: readonly string[]): readonly RoleRule[] {
  const domains = ownIdentities.flatMap((uri) => /^spiffe:\/\/([^/*]+)\//.exec(uri)?.[1] ?? []);
  return domains.slice(0, 1).map((domain) => ({ pattern: `spiffe://${domain}/ns/*/controller`, role: "operate" }));
}

/** The highest role that the rules assign to any of the identities; undefined: none. */
export function roleOf(identities: readonly string[], rules: readonly RoleRule[]): Role | undefined {
  const given = rules.filter((rule) => identities.some((identity) => matches(rule.pattern, identity)));
  return ROLES.findLast((role) => given.some((rule) => rule.role === role));
}

export function isRole(word: string): word is Role {
  return ROLES.some((known) => known === word);
}

export function higherOf(a: Role | undefined, b: Role | undefined): Role | undefined {
  return ROLES.findLast((role) => role === a || role === b);
}

export function includes(held: Role | undefined, needed: Role): boolean {
  return held !== undefined && ROLES.indexOf(held) >= ROLES.indexOf(needed);
}

/** Writes the hash in lower case without colons, as in identities. */
function plainByCa(pattern: string): string {
  const [ca = "", name = ""] = pattern.split("/");
  return `${ca.replaceAll(":", "").toLowerCase()}/${name}`;
}

function matches(pattern: string, identity: string): boolean {
  const wanted = pattern.split("/");
  const found = identity.split("/");
  return (
    wanted.length === found.length && wanted.every((part, i) => (part === "*" && found[i] !== "") || part === found[i])
  );
}
