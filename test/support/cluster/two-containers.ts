import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { dirname, join } from "node:path";
import type { TestContext } from "vitest";
import { programFile } from "../programs.ts";
import { firstProcessOf } from "../sidecar/pid-namespace.ts";
import { until } from "../sidecar/sidecar.ts";

const [UNSHARE, NSENTER] = ["unshare", "nsenter"] as const;
/** A user other than root. */
const NOBODY = 65_534;

export interface TwoContainers extends AsyncDisposable {
  /** The folder that both sides see; it contains the state folder. */
  readonly shared: string;
  readonly stateDir: string;
  /** A folder that only the serving side sees, at the same path: `tls.key` and the like. */
  readonly keyDir: string;
  readonly healthUrl: string;
  /** Runs a shell script in the agent's container, as its user. Returns its output; never throws. */
  attack(script: string): string;
  metrics(): Promise<string>;
  isReady(): Promise<boolean>;
  log(): string;
  /** The pid of the serving half outside the namespaces. */
  readonly servingPid: number;
}

/** Skips a test where mount namespaces cannot be made, with a line that says why. With `CI=true` that is a failure. */
export function requireMountNamespace(context: TestContext): void {
  try {
    execFileSync(UNSHARE, ["--mount", "--pid", "--fork", "--mount-proc", "true"], { stdio: "ignore", timeout: 5000 });
  } catch {
    const missing =
      "no mount namespace of its own for a process here; root, or CAP_SYS_ADMIN, has one (unshare --mount)";
    if (process.env["CI"] === "true") throw new Error(missing);
    context.skip(missing);
  }
}

/** Uses a new connection each time: an attack stops this process for longer than an idle connection is kept. */
function ask(url: string): Promise<{ readonly status: number | undefined; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    request.on("error", reject);
  });
}

/** One half in its own namespaces. */
interface Half {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
}

/** The folders of a pod with two containers, and the user of both. */
interface Pod {
  readonly root: string;
  readonly shared: string;
  readonly stateDir: string;
  readonly keyDir: string;
  /** The programs of the serving side: only mkfifo. */
  readonly bin: string;
  readonly uid: number;
  /** The prefix of a shell command that runs it as that user. */
  readonly asUser: string;
}

const { PATH } = process.env;

/**
 * The two halves as in the two containers of a pod: one shared folder, and a mount namespace for each; the TLS key is
 * mounted only on the serving side. Both run as the same user. The serving side has no tmux.
 */
export async function twoContainers(user: "root" | "another user", key: string): Promise<TwoContainers> {
  const pod = await makePod(user === "root" ? 0 : NOBODY);
  let log = "";
  const [supervising, serving] = startHalves(pod, key, (text) => {
    log += text;
  });
  const dispose = async () => {
    await stop(serving);
    // A change of user resets the setting with which the first process would end together with unshare.
    if (supervising.child.exitCode === null) process.kill(firstProcessOf(supervising.child.pid ?? 0), "SIGKILL");
    await stop(supervising);
    await rm(pod.root, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const health = () => /"listen":"([^"]+)","msg":"health served"/.exec(log)?.[1];
    const healthUrl = `http://${await until("the health port", 30_000, health, () => log)}`;
    const isReady = async () => (await ask(`${healthUrl}/readyz`)).status === 200;
    await until(
      "it to be ready",
      30_000,
      async () => (await isReady()) || undefined,
      () => log,
    );
    const { shared, stateDir, keyDir } = pod;
    return {
      shared,
      stateDir,
      keyDir,
      healthUrl,
      servingPid: serving.child.pid ?? 0,
      log: () => log,
      metrics: async () => (await ask(`${healthUrl}/metrics`)).text,
      isReady,
      attack: (script) => runBeside(supervising, pod, script),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (err) {
    await dispose();
    throw err;
  }
}

async function makePod(uid: number): Promise<Pod> {
  const root = await mkdtemp("/tmp/gt-two-"); // the folder of a run's temporary files is for its own user alone
  const [shared, keyDir, bin] = ["shared", "key", "bin"].map((name) => join(root, name)) as [string, string, string];
  for (const dir of [shared, keyDir, bin]) mkdirSync(dir);
  chmodSync(root, 0o755);
  chmodSync(dirname(programFile("gt-sidecar")), 0o755); // made for this run, and for its user alone
  chownSync(shared, uid, uid);
  cpSync("/usr/bin/mkfifo", join(bin, "mkfifo"));
  const asUser = uid === 0 ? "" : `setpriv --reuid=${uid} --regid=${uid} --clear-groups --no-new-privs `;
  return { root, shared, stateDir: join(shared, "state"), keyDir, bin, uid, asUser };
}

function startHalves(
  { shared, stateDir, keyDir, bin, uid, asUser }: Pod,
  key: string,
  onLog: (text: string) => void,
): readonly [supervising: Half, serving: Half] {
  const main = `'${process.execPath}' '${programFile("gt-sidecar")}'`;
  const common = `--agent generic --state-dir '${stateDir}' --workdir '${shared}'`;
  const agent = `-- sh -c 'echo ready; while :; do read -r line && echo "$line"; done'`;
  const supervising = startHalf(
    ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
    `exec ${asUser}${main} supervise ${common} --grace 3s ${agent}`,
    { PATH, HOME: shared, LANG: "C.UTF-8" },
    onLog,
  );
  const mountKey = [
    `mount -t tmpfs -o mode=0755 key '${keyDir}'`,
    `printf %s "$KEY_TEXT" > '${keyDir}/tls.key'`,
    `chmod 0600 '${keyDir}/tls.key'`,
    `chown -R ${uid} '${keyDir}'`,
    "unset KEY_TEXT",
  ].join(" && ");
  const listen = "--listen 127.0.0.1:0 --health-listen 127.0.0.1:0";
  const serving = startHalf(
    ["--mount"],
    `${mountKey} && exec ${asUser}env PATH='${bin}' ${main} serve ${common} ${listen} ${agent}`,
    { PATH, HOME: keyDir, LANG: "C.UTF-8", KEY_TEXT: key },
    onLog,
  );
  return [supervising, serving];
}

function startHalf(
  namespace: readonly string[],
  script: string,
  env: Record<string, string | undefined>,
  onLog: (text: string) => void,
): Half {
  const child = spawn(UNSHARE, [...namespace, "--", "sh", "-c", script], { stdio: ["ignore", "ignore", "pipe"], env });
  child.stderr.setEncoding("utf8").on("data", onLog);
  return { child, exited: new Promise((resolve) => child.on("exit", resolve)) };
}

async function stop({ child, exited }: Half): Promise<void> {
  if (child.exitCode === null) child.kill("SIGKILL");
  await exited;
}

/** The output of a shell script in the namespaces of the supervising half, as the pod's user; or its error. */
function runBeside({ child }: Half, { stateDir, keyDir, shared, asUser }: Pod, script: string): string {
  const paths = { S: stateDir, KEYDIR: keyDir, KEY: join(keyDir, "tls.key"), SHARED: shared, TMUX_TMPDIR: shared };
  try {
    const target = ["--target", `${firstProcessOf(child.pid ?? 0)}`, "--mount", "--pid"];
    const argv = [...target, "--", "sh", "-c", `exec ${asUser}sh -c "$SCRIPT"`];
    return execFileSync(NSENTER, argv, { env: { PATH, ...paths, SCRIPT: script }, timeout: 10_000 }).toString();
  } catch (err) {
    return String(err);
  }
}
