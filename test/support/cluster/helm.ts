import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, type TestContext } from "vitest";
import { parseAllDocuments } from "yaml";
import { type ControllerConfig, readControllerConfig } from "../../../cmd/gt-controller/controller-config.ts";
import { component, requireComponent } from "./components.ts";

const run = promisify(execFile);

/** The folder of the chart. */
export const CHART = fileURLToPath(new URL("../../../charts/gastown/", import.meta.url));

/** Helm renders the manifests without a cluster, so it must be given the version of Kubernetes. */
const KUBE_VERSION = "v1.35.0";

/** Helm with its own folders, so that it neither reads nor changes the machine's. */
export class Helm {
  readonly #program: string;
  readonly #home: string;
  readonly #kubeconfig: string | undefined;

  constructor(program: string, home: string, kubeconfig?: string) {
    this.#program = program;
    this.#home = home;
    this.#kubeconfig = kubeconfig;
  }

  /** Returns its output; fails with its error text. */
  async run(...args: readonly string[]): Promise<string> {
    const home = { HELM_CACHE_HOME: this.#home, HELM_CONFIG_HOME: this.#home, HELM_DATA_HOME: this.#home };
    const cluster = this.#kubeconfig === undefined ? {} : { KUBECONFIG: this.#kubeconfig };
    const env = { PATH: process.env["PATH"] ?? "", HOME: this.#home, ...home, ...cluster };
    const { stdout } = await run(this.#program, [...args], { env, maxBuffer: 1 << 26, timeout: 300_000 });
    return stdout;
  }

  /** The manifests of a release, as one YAML text. */
  async template(release: string, ...args: readonly string[]): Promise<string> {
    return await this.run("template", release, CHART, "-n", "gastown-system", "--kube-version", KUBE_VERSION, ...args);
  }
}

/** Helm for the tests of a describe, with a folder that is removed after them. */
export class HelmBed {
  #dir = "";
  #helm: Helm | undefined;

  /** Registers the set-up with the describe that is being collected. */
  constructor(name: string) {
    beforeAll(async () => {
      this.#dir = await mkdtemp(join(tmpdir(), `gt-${name}-`));
      const found = await component("helm");
      if ("path" in found) this.#helm = new Helm(found.path, this.#dir);
    });
    afterAll(async () => await rm(this.#dir, { recursive: true, force: true }));
  }

  get dir(): string {
    return this.#dir;
  }

  /** Skips a test where Helm is missing; in CI the test fails. */
  async here(context: TestContext): Promise<Helm> {
    if (this.#helm !== undefined) return this.#helm;
    await requireComponent(context, "helm");
    return context.skip("no helm");
  }
}

/** One object of a release. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** The objects in a text of manifests. */
export const manifestsOf = (text: string) =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((one) => one !== null);

/** The controller's configuration, as the controller reads it. */
export function configIn(text: string): ControllerConfig {
  const map = manifestsOf(text).find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "gastown");
  return readControllerConfig(map?.data?.["controller.yaml"] ?? "", "controller.yaml");
}

/** Splits the name of an image into its repository and its tag. */
export function splitImage(image: string): readonly [repository: string, tag: string] {
  const at = image.lastIndexOf(":");
  return [image.slice(0, at), image.slice(at + 1)];
}
