import type { CrossSignatureOptions } from "../../internal/pki/cross-signature.ts";
import type { Usage } from "../../internal/pki/judge-chain.ts";
import type { KeyType } from "../../internal/pki/key-pair.ts";
import type { LeafOptions } from "../../internal/pki/leaf.ts";
import type { RevocationReason } from "../../internal/pki/sign-revocation-list.ts";
import type { CommandName } from "./flags.ts";

/** Where the passphrase of a CA's key comes from. Never the command line, which every user of the machine can read. */
export type PassphraseSource =
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "fd"; readonly fd: number }
  | { readonly type: "environment"; readonly text: string }
  | { readonly type: "prompt" };

/** The files of a CA. */
export interface CaFiles {
  readonly ca: string;
  readonly caKey: string;
}

interface WithKey extends CaFiles {
  readonly passphrase: PassphraseSource;
}

export interface InitCommand {
  readonly type: "init";
  readonly name: string;
  readonly out: string;
  readonly trustDomain: string | undefined;
  readonly keyType: KeyType;
  readonly days: number;
  readonly passphrase: PassphraseSource;
}

export interface IssueCommand extends WithKey {
  readonly type: "issue";
  readonly leaf: Omit<LeafOptions, "now">;
  readonly keyType: KeyType;
  readonly out: string;
  readonly force: boolean;
}

export interface CrossSignCommand extends WithKey {
  readonly type: "cross-sign";
  readonly target: string;
  readonly limits: Omit<CrossSignatureOptions, "now">;
  readonly out: string;
  readonly force: boolean;
}

export interface BundleCommand extends CaFiles {
  readonly type: "bundle";
  readonly previous: readonly string[];
  readonly crossSigned: readonly string[];
  readonly out: string;
  readonly force: boolean;
}

export interface JwtKeygenCommand {
  readonly type: "jwt-keygen";
  readonly out: string;
}

export interface RenewCommand extends WithKey {
  readonly type: "renew";
  readonly cert: string;
  readonly key: string;
  readonly keepKey: boolean;
  /** Undefined: as before. */
  readonly keyType: KeyType | undefined;
  /** Undefined: now, due or not. */
  readonly withinMs: number | undefined;
  readonly days: number | undefined;
  /** The CA that issued the certificate, where that is not the one that renews it. */
  readonly fromCa: string | undefined;
}

export interface VerifyCommand {
  readonly type: "verify";
  readonly cert: string;
  readonly bundle: string;
  readonly lists: readonly string[];
  readonly usage: Usage | undefined;
}

export interface RevokeCommand extends CaFiles {
  readonly type: "revoke";
  readonly cert: string;
  readonly reason: RevocationReason;
}

export interface CrlCommand extends WithKey {
  readonly type: "crl";
  readonly out: string;
  readonly days: number;
  readonly force: boolean;
}

export interface InspectCommand {
  readonly type: "inspect";
  readonly files: readonly string[];
}

export type Command =
  | { readonly type: "help"; readonly topic: CommandName | undefined }
  | { readonly type: "version" }
  | InitCommand
  | IssueCommand
  | CrossSignCommand
  | BundleCommand
  | JwtKeygenCommand
  | RenewCommand
  | VerifyCommand
  | RevokeCommand
  | CrlCommand
  | InspectCommand;
