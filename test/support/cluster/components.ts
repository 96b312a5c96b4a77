import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestContext } from "vitest";
import { type AgentProgram, agentProgram } from "../agents/agents-install.ts";
import { installPackages } from "../install-packages.ts";
import { FILE_MARK } from "../leaks.ts";

/** Programs that some tests drive and that are not part of the product. */
export type Component =
  | "grpcurl"
  | "ghz"
  | "connectconformance"
  | "cluster"
  | "containers"
  | "kubectl"
  | "helm"
  | "nats-server"
  | "curl"
  | "openssl"
  | "tmux"
  | "vim"
  | "less"
  | "htop"
  | "claude"
  | "codex"
  | "opencode"
  | "mcp-conformance";

export type Found = { readonly path: string } | { readonly missing: string };

/** How to get a missing program; shown when a test is skipped because of it. */
const HINTS: Readonly<Record<Component, string>> = {
  grpcurl: "go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4",
  ghz: "go install github.com/bojand/ghz/cmd/ghz@v0.93.0",
  connectconformance: "go install connectrpc.com/conformance/cmd/connectconformance@v1.0.5",
  cluster: "a cluster of your own: set KUBECONFIG, or use kind",
  containers: "docker, or podman",
  kubectl: "see kubernetes.io/docs/tasks/tools",
  "nats-server": "go install github.com/nats-io/nats-server/v2@v2.15.2",
  helm: "see helm.sh/docs/intro/install",
  curl: "apt-get install curl",
  openssl: "apt-get install openssl",
  tmux: "apt-get install tmux",
  vim: "apt-get install vim",
  less: "apt-get install less",
  htop: "apt-get install htop",
  claude: "npm ci in test/agents",
  codex: "npm ci in test/agents",
  opencode: "npm ci in test/agents",
  "mcp-conformance": "npm ci in test/conformance-mcp",
};

const AGENTS: Partial<Record<Component, AgentProgram>> = {
  claude: "claude-2.1.330",
  codex: "codex-0.169.0",
  opencode: "opencode-1.18.33",
};

/** A folder beside the repository that may hold packed test programs; GT_TEST_PROGRAMS names another. */
const shared = process.env["GT_TEST_PROGRAMS"] ?? fileURLToPath(new URL("../../../../shared/", import.meta.url));

/**
 * The path of a program for tests: from npm, from the folder of test programs, or from PATH.
 * @public
 */
export async function component(name: Component): Promise<Found> {
  const path = (await installed(name).catch(() => undefined)) ?? (await packed(name)) ?? (await onPath(name));
  return path === undefined ? { missing: `${name} is missing: ${HINTS[name]}` } : { path };
}

/**
 * Returns the path of a program, or skips the test with a line that says what to install. With `CI=true`, a missing
 * program is a failure.
 */
export async function requireComponent(context: TestContext, name: Component): Promise<string> {
  const found = await component(name);
  if ("path" in found) return found.path;
  if (process.env["CI"] === "true") throw new Error(found.missing);
  return context.skip(found.missing);
}

/**
 * Returns what a hook has made; without it, skips the test with a line about the first missing program, or else with
 * `reason`.
 */
export async function requireMade<T>(
  context: TestContext,
  made: T | undefined,
  programs: readonly Component[],
  reason: string,
): Promise<T> {
  if (made !== undefined) return made;
  for (const name of programs) await requireComponent(context, name);
  return context.skip(reason);
}

/** A program from npm. @throws an Error if it is missing and cannot be installed */
async function installed(name: Component): Promise<string | undefined> {
  const agent = AGENTS[name];
  if (agent !== undefined) return await agentProgram(agent);
  if (name !== "mcp-conformance") return undefined;
  const folder = fileURLToPath(new URL("../../conformance-mcp/", import.meta.url));
  await installPackages(folder);
  return join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
}

async function packed(name: Component): Promise<string | undefined> {
  if (name === "cluster") return executable(join(shared, "cluster", "cluster"));
  if (name === "containers") return (await executable(join(shared, "cluster", "image"))) ?? (await engine());
  const archive = join(shared, "bin", `${name}.xz`);
  const unpack = await executable(join(shared, "bin", "unpack"));
  if (unpack === undefined || !(await exists(archive))) return undefined;
  const folder = join(tmpdir(), "gastown-test-programs");
  await promisify(execFile)(unpack, [folder, name]);
  return join(folder, name);
}

/**
 * Returns the path of an engine that works: docker does not work without its daemon. An ordinary user's first podman
 * starts a process that keeps the user's namespace. The program gets no mark of this test file, so that this process
 * does not count as left behind.
 */
async function engine(): Promise<string | undefined> {
  const { [FILE_MARK]: _, ...env } = process.env;
  for (const name of ["docker", "podman"]) {
    const path = await onPath(name);
    const works = path !== undefined && (await promisify(execFile)(path, ["info"], { env }).then(Boolean, () => false));
    if (works) return path;
  }
  return undefined;
}

async function onPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = folder === "" ? undefined : await executable(join(folder, name));
    if (path !== undefined) return path;
  }
  return undefined;
}

async function executable(path: string): Promise<string | undefined> {
  return (await exists(path, constants.X_OK)) ? path : undefined;
}

function exists(path: string, mode = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
