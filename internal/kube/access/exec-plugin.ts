import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { DomainError } from "../../base/errors.ts";
import { systemReason } from "../../files/system-reason.ts";

/** Credentials from a plug-in. Undefined: the plug-in returned none of that kind. */
export interface ExecCredential {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Fields = Readonly<Record<string, unknown>>;

const LIMIT_MS = 30_000;
/** Run the plug-in again this long before the credential expires. */
const EARLY_MS = 60_000;

/**
 * A program that creates credentials, configured by the block `exec` of a kubeconfig (client.authentication.k8s.io).
 */
export class ExecPlugin {
  readonly #block: Fields;
  readonly #folder: string;
  readonly #env: Environment;
  #held: { readonly credential: ExecCredential; readonly until: number } | undefined;

  /** `folder`: base of a relative path of the program. `env`: environment of the program. */
  constructor(block: Fields, folder: string, env: Environment) {
    this.#block = block;
    this.#folder = folder;
    this.#env = env;
  }

  /** Runs the program, or returns its last credential while that is valid. @throws DomainError `precondition` */
  async credential(): Promise<ExecCredential> {
    if (this.#held !== undefined && Date.now() < this.#held.until) return this.#held.credential;
    const { command, args, env, apiVersion } = this.#block;
    const program = String(command);
    const given = listOf(env).map(({ name, value }: Fields) => [String(name), String(value)]);
    const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec: { interactive: false } });
    const path = program.includes("/") ? resolve(this.#folder, program) : program;
    try {
      const { stdout } = await promisify(execFile)(path, listOf(args).map(String), {
        env: { ...this.#env, ...Object.fromEntries(given), KUBERNETES_EXEC_INFO: info },
        timeout: LIMIT_MS,
      });
      this.#held = read(JSON.parse(stdout));
      return this.#held.credential;
    } catch (cause) {
      // Leave the output out of the error: it may contain the credential.
      const text = `the kubeconfig's exec plug-in ${program} gave no credential: ${reasonOf(cause)}`;
      throw new DomainError("precondition", text, { cause });
    }
  }
}

function reasonOf(err: unknown): string {
  const { code, killed } = err as { readonly code?: unknown; readonly killed?: boolean };
  if (killed === true) return `it took longer than ${LIMIT_MS} ms`;
  if (typeof code === "number") return `it ended with exit code ${code}`;
  return typeof code === "string" ? systemReason(err, "program") : "it printed none";
}

function read(answer: unknown): { readonly credential: ExecCredential; readonly until: number } {
  const status = ((answer as Fields)["status"] ?? {}) as Fields;
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status;
  const certificate = optional(clientCertificateData);
  const credential = { token: optional(token), certificate, key: optional(clientKeyData) };
  if (credential.token === undefined && certificate === undefined) throw new Error("no token and no certificate");
  const end = Date.parse(String(expirationTimestamp));
  return { credential, until: Number.isNaN(end) ? Number.POSITIVE_INFINITY : end - EARLY_MS };
}

function optional(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function listOf(value: unknown) {
  return Array.isArray(value) ? value : [];
}
