import { chmod, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { gt } from "../support/bridge/gt-transcript.ts";

const BEAD = "gt-shop-crew-ann";

let folder: BridgeFolder;
let bridge: RunningBridge;
let env: Record<string, string>;
let trust: string[];

beforeAll(async () => {
  folder = await BridgeFolder.create();
  bridge = await folder.start();
  const [bin, home] = [folder.path("bin"), folder.path("home")];
  await mkdir(bin);
  await mkdir(home);
  await cp(fileURLToPath(new URL("../fakes/bd", import.meta.url)), join(bin, "bd"));
  await chmod(join(bin, "bd"), 0o755);
  const path = `${bin}:${dirname(process.execPath)}:${process.env["PATH"]}`;
  env = { PATH: path, HOME: home, USER: "ann", FAKE_BD: folder.path("beads"), XDG_RUNTIME_DIR: home };
  const dir = await folder.consumerFolder(folder.prd);
  const signed = ["--jwt-key", join(dir, "jwt-signing.key"), "--jwt-issuer", "prd-manager", "--project", "prd-manager"];
  trust = ["--tls-dir", dir, ...signed];
});
afterAll(() => folder[Symbol.asyncDispose]());
beforeEach(async () => {
  await rm(folder.path("beads"), { recursive: true, force: true });
  await mkdir(folder.path("beads"));
  const old = { backend: "k8s", sidecar_host: "10.0.0.7", sidecar_port: "9090", team: "platform" };
  await writeFile(folder.path("beads", `${BEAD}.json`), JSON.stringify([{ id: BEAD, title: "Ann", metadata: old }]));
});

const server = () => ["--server", `127.0.0.1:${bridge.port}`];
const run = (...args: string[]) => gt([...args, ...trust], env);
const start = (...args: string[]) =>
  run("start", "demo", folder.path("repos/one"), "--mode", "terminal", ...server(), ...args);
const bead = async () => JSON.parse(await readFile(folder.path("beads", `${BEAD}.json`), "utf8"))[0];

it("gt start --bead records the session's address in the bead, gt nudge uses it, and gt stop removes it", async () => {
  expect(await start("--session", "b1", "--bead", BEAD)).toMatchObject({ code: 0, stderr: "" });
  const place = { backend: "bridge", bridge_server: `127.0.0.1:${bridge.port}`, sidecar_session: "b1" };
  expect(await bead()).toEqual({ id: BEAD, title: "Ann", metadata: { ...place, team: "platform" } });

  expect(await run("nudge", BEAD, "hello by the bead")).toMatchObject({ code: 0, stderr: "" });
  expect((await run("peek", "shop/crew/ann", "20")).stdout).toContain("hello by the bead");
  expect((await run("nudge", BEAD, "and by the server", ...server())).code).toBe(0);

  expect(await run("stop", BEAD, "--force")).toMatchObject({ code: 0, stderr: "" });
  expect((await bead()).metadata).toEqual({ team: "platform" });
  expect((await run("nudge", BEAD, "too late")).code).toBe(3);
});

it("gt start starts nothing for a missing bead, and reports a bead that could not be written", async () => {
  const none = await start("--session", "b2", "--bead", "gt-none");
  expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining('there is no bead "gt-none"') });
  expect((await run("status", "b2", ...server())).code).toBe(3);

  await writeFile(folder.path("beads", "read-only"), "");
  const unwritten = await start("--session", "b3", "--bead", BEAD);
  expect(unwritten.code).not.toBe(0);
  expect(unwritten.stderr).toContain("database is read-only");
  expect(unwritten.stderr).toContain("session b3 was started");
  await run("stop", "b3", "--force", ...server());
});

it("gt sends no token to a bead's control plane that our CA does not certify", async () => {
  const place = { backend: "bridge", bridge_server: "127.0.0.1:1", sidecar_session: "b4" };
  await writeFile(folder.path("beads", `${BEAD}.json`), JSON.stringify([{ id: BEAD, metadata: place }]));
  expect((await run("nudge", BEAD, "hello")).code).toBe(4);
  const bare = await gt(["nudge", BEAD, "hello"], env);
  expect(bare).toMatchObject({ code: 4, stderr: expect.stringContaining("requires a certificate") });
});
