import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runToEnd } from "../run-to-end.ts";
import { until } from "../sidecar/sidecar.ts";
import { component } from "./components.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));
const MINUTE = 60_000;
const LOOK_PAUSE_MS = 500;
const API_PORT_FREE = "while ss -Htln 'sport = :6443' | grep -q .; do sleep 0.02; done";

/** A Kubernetes cluster for tests. */
export interface TestCluster extends AsyncDisposable {
  /** The path of a kubeconfig, cluster admin. */
  readonly kubeconfig: string;
  /** Runs kubectl as cluster admin; returns its output, fails with its error text. `input`: its stdin. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Makes an image known to the nodes; returns the name that pods use. */
  load(archive: string, image: string): Promise<string>;
  /** Forwards a port of a pod to this machine until it is disposed of. */
  forward(pod: string, port: number, ...args: readonly string[]): Promise<Forward>;
  /**
   * The cluster tool's own commands (crash, start, …) where tests made the cluster; undefined for others. A crashed API
   * server can be restarted at once.
   */
  readonly control: ((...args: readonly string[]) => Promise<string>) | undefined;
}

export interface Forward extends AsyncDisposable {
  readonly port: number;
}

/**
 * The cluster of KUBECONFIG if that is set (`GT_E2E_IMAGE` names an image that it has, else `kind load` brings ours),
 * else a new one for this run. `missing`: a text that names the program without which there is no cluster.
 * @param node `none`: an API server with its controllers suffices, because no pod has to run
 * @param apiServerFlags for the API server of a new cluster
 */
export async function testCluster(
  name: string,
  node: "one" | "none" = "one",
  apiServerFlags: readonly string[] = [],
): Promise<TestCluster | { readonly missing: string }> {
  const kubectl = await component("kubectl");
  if ("missing" in kubectl) return kubectl;
  const given = process.env["KUBECONFIG"] ?? "";
  if (given !== "") return new KubeconfigCluster(kubectl.path, given, undefined);
  const control = await clusterControl({ GT_CLUSTER: name, GT_APISERVER_FLAGS: apiServerFlags.join(" ") });
  if ("missing" in control) return control;
  const kubeconfig = (await control("up", ...(node === "none" ? ["--no-node"] : []))).trim().split("\n").at(-1) ?? "";
  return new KubeconfigCluster(kubectl.path, kubeconfig, control);
}

/**
 * Returns a function that runs commands of the program that makes clusters. `env` selects the cluster; default: the
 * cluster in whose network this process runs.
 */
export async function clusterControl(
  env: NodeJS.ProcessEnv = {},
): Promise<NonNullable<TestCluster["control"]> | { readonly missing: string }> {
  const tool = await component("cluster");
  if ("missing" in tool) return tool;
  const call = async (args: readonly string[]) => {
    const options = { env: { ...process.env, ...env }, timeout: 5 * MINUTE, maxBuffer: 1 << 24 };
    return (await run(tool.path, [...args], options)).stdout;
  };
  return async (...args) => {
    const out = await call(args);
    // A killed API server holds its port until the kernel has removed it. A new one that starts before that fails to
    // listen.
    if (args.join(" ") === "crash apiserver") await call(["in", "bash", "-c", API_PORT_FREE]);
    return out;
  };
}

class KubeconfigCluster implements TestCluster {
  readonly #program: string;
  readonly kubeconfig: string;
  readonly control: TestCluster["control"];

  constructor(program: string, kubeconfig: string, control: TestCluster["control"]) {
    this.#program = program;
    this.kubeconfig = kubeconfig;
    this.control = control;
  }

  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const options = { env: this.#env(), timeoutMs: 3 * MINUTE, input };
    const { code, stdout, stderr } = await runToEnd(this.#program, args, options);
    if (code === 0) return stdout;
    throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  }

  async load(archive: string, image: string): Promise<string> {
    const known = process.env["GT_E2E_IMAGE"] ?? "";
    if (this.control !== undefined) await this.control("load", archive);
    else if (known !== "") return known;
    else await run("kind", ["load", "image-archive", archive], { env: this.#env(), timeout: 5 * MINUTE });
    return image;
  }

  async forward(pod: string, port: number, ...args: readonly string[]): Promise<Forward> {
    const child = spawn(this.#program, ["port-forward", ...args, `pod/${pod}`, `:${port}`], {
      env: this.#env(),
      stdio: ["ignore", "pipe", "ignore"],
    });
    const ended = once(child, "close");
    let text = "";
    for await (const chunk of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
      text += chunk;
      if (text.includes("\n")) break;
    }
    child.stdout.resume();
    const local = /127\.0\.0\.1:(\d+) ->/.exec(text)?.[1];
    if (local === undefined) throw new Error(`kubectl port-forward said ${JSON.stringify(text)}`);
    return {
      port: Number(local),
      [Symbol.asyncDispose]: async () => {
        child.kill("SIGTERM");
        await ended;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.control?.("down");
  }

  #env(): NodeJS.ProcessEnv {
    return { ...process.env, KUBECONFIG: this.kubeconfig };
  }
}

/** Follows a pod's log. Resolves after its first output; `whole`: the log, once the pod has ended. */
export async function followLog(
  { kubeconfig }: TestCluster,
  pod: string,
  ...args: readonly string[]
): Promise<{ readonly whole: Promise<string> }> {
  const kubectl = await component("kubectl");
  if ("missing" in kubectl) throw new Error(`no ${kubectl.missing}`);
  const child = spawn(kubectl.path, ["logs", "-f", ...args, pod], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const whole = once(child, "close").then(() => text);
  await until(`the log of ${pod}`, MINUTE, () => text !== "" || undefined);
  return { whole };
}

/** A manifest of `deploy/k8s` with the image under test. */
export async function manifest(name: string, image: string): Promise<string> {
  const text = await readFile(`${root}deploy/k8s/${name}`, "utf8");
  return text.replaceAll("image: gt-sidecar:0.1.0", `image: ${image}\n      imagePullPolicy: IfNotPresent`);
}

/**
 * As `until`, for an `ask` that starts a program: kubectl takes some 0.07 s of processor time, gt more. Ends up to half
 * a second late, so it is not for waits that are measured.
 */
export function untilInCluster<T>(
  what: string,
  ms: number,
  ask: () => Promise<T | undefined>,
  context?: () => string,
): Promise<T> {
  return until(what, ms, ask, context, () => LOOK_PAUSE_MS);
}
