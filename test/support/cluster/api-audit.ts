import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One request that the API server answered. */
export interface AuditedRequest {
  /** The user in whose name it was made. */
  readonly user: string;
  /** The verb as roles name it: `get`, `list`, `watch`, `create`, … */
  readonly verb: string;
  readonly group: string;
  /** Including its subresource: `deployments/scale`. */
  readonly resource: string;
  readonly namespace: string;
  /** Empty for a whole collection, and for `create`. */
  readonly name: string;
  readonly status: number;
  /** Wall clock, ms. */
  readonly at: number;
}

/** The requests that an API server has recorded. */
export class ApiAudit implements AsyncDisposable {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  static async make(): Promise<ApiAudit> {
    const dir = await mkdtemp(join(tmpdir(), "gt-audit-"));
    await mkdir(dir, { recursive: true });
    const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata" }] };
    await writeFile(join(dir, "policy.yaml"), JSON.stringify(policy));
    return new ApiAudit(dir);
  }

  /** The flags of the API server that is to record. */
  get flags(): readonly string[] {
    return [
      `--audit-policy-file=${join(this.#dir, "policy.yaml")}`,
      `--audit-log-path=${join(this.#dir, "audit.log")}`,
      "--audit-log-mode=blocking",
    ];
  }

  /** All requests so far of users whose name has this prefix; a watch counts once, when it was opened. */
  async requests(user: string): Promise<readonly AuditedRequest[]> {
    const text = await readFile(join(this.#dir, "audit.log"), "utf8");
    return text
      .split("\n")
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(({ stage, verb }) => stage === (verb === "watch" ? "ResponseStarted" : "ResponseComplete"))
      .map(requestOf)
      .filter((request) => request.user.startsWith(user));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly objectRef?: Readonly<Record<"apiGroup" | "resource" | "subresource" | "namespace" | "name", string>>;
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
}

function requestOf(event: AuditEvent): AuditedRequest {
  const { apiGroup = "", resource = "", subresource = "", namespace = "", name = "" } = event.objectRef ?? {};
  return {
    user: event.impersonatedUser?.username ?? event.user.username,
    verb: event.verb,
    group: apiGroup,
    resource: subresource === "" ? resource : `${resource}/${subresource}`,
    namespace,
    name: event.verb === "create" ? "" : name, // a role cannot limit `create` to names
    status: event.responseStatus?.code ?? 0,
    at: Date.parse(event.requestReceivedTimestamp),
  };
}
