import { DomainError } from "../../base/errors.ts";

/** The source of a call's token. */
export type TokenSource =
  | { readonly type: "given"; readonly text: string }
  | {
      readonly type: "signed";
      readonly keyPath: string;
      readonly issuer: string;
      readonly project: string;
      readonly audience: string;
    };

const TOKEN_FLAGS = ["jwt-key", "jwt-issuer", "jwt-audience", "project"] as const;

type TokenFlag = (typeof TOKEN_FLAGS)[number];

type TokenValues = Readonly<Partial<Record<TokenFlag, string>>>;

/** The settings from which a token is made: those of the caller, and those of a profile. */
export interface TokenInputs {
  readonly flags: TokenValues;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Used only for calls of a control plane. */
  readonly profile: TokenValues;
  /** The token is for a call of a control plane. */
  readonly toServer: boolean;
}

/**
 * The token of the flags, otherwise of GT_TOKEN, otherwise of the profile; undefined without any. The profile fills in
 * what the flags leave out.
 * @throws DomainError `invalid` for some of the flags without the others
 */
export function readTokenSource({ flags, env, profile, toServer }: TokenInputs): TokenSource | undefined {
  const text = env["GT_TOKEN"]?.trim();
  const isGiven = (values: TokenValues) => TOKEN_FLAGS.some((name) => values[name] !== undefined);
  if (!isGiven(flags) && text) return { type: "given", text };
  // A project alone only selects sessions, e.g. beside GT_TOKEN.
  const onlyProject = TOKEN_FLAGS.every((name) => name === "project" || flags[name] === undefined);
  if (onlyProject && text) return { type: "given", text };
  const merged: TokenValues = toServer ? { ...profile, ...flags } : flags;
  if (!isGiven(merged) || (toServer && onlyProject && merged["jwt-key"] === undefined)) return undefined;
  const { "jwt-key": keyPath, "jwt-issuer": issuer, project, "jwt-audience": audience } = merged;
  if (!keyPath || !issuer || !project || audience === "") {
    throw new DomainError("invalid", "a token needs all three of --jwt-key, --jwt-issuer and --project");
  }
  return { type: "signed", keyPath, issuer, project, audience: audience ?? (toServer ? "bridge" : "gt-sidecar") };
}

/** The project that a token is for; undefined when its text does not name one. */
export function tokenProject(source: TokenSource): string | undefined {
  if (source.type === "signed") return source.project;
  try {
    const [, claims = ""] = source.text.split(".");
    const { project_id: project } = JSON.parse(Buffer.from(claims, "base64url").toString()) as { project_id?: unknown };
    return typeof project === "string" ? project : undefined;
  } catch {
    return undefined; // the server says what is wrong with it
  }
}
