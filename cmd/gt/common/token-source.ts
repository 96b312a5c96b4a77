import { DomainError } from "../../../internal/base/errors.ts";

/** Where the token of a call comes from. */
export type TokenSource =
  | { readonly type: "given"; readonly text: string }
  | {
      readonly type: "signed";
      readonly keyPath: string;
      readonly issuer: string;
      readonly project: string;
      readonly audience: string;
    };

interface TokenValues {
  readonly "jwt-key"?: string;
  readonly "jwt-issuer"?: string;
  readonly "jwt-audience"?: string;
  readonly project?: string;
}

/**
 * From the flags, else from GT_TOKEN; undefined without either.
 * @throws DomainError `invalid` for some of the flags without the others
 */
export function readTokenSource(
  flags: TokenValues,
  env: Readonly<Record<string, string | undefined>>,
): TokenSource | undefined {
  const { "jwt-key": keyPath, "jwt-issuer": issuer, project, "jwt-audience": audience } = flags;
  if ([keyPath, issuer, project, audience].every((value) => value === undefined)) {
    const text = env["GT_TOKEN"];
    return text ? { type: "given", text: text.trim() } : undefined;
  }
  if (!keyPath || !issuer || !project || audience === "") {
    throw new DomainError("invalid", "a token takes --jwt-key, --jwt-issuer and --project, all three");
  }
  return { type: "signed", keyPath, issuer, project, audience: audience ?? "gt-sidecar" };
}
