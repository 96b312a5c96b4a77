import { cpSync, readdirSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EventType } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { BridgeScene } from "../support/bridge/bridge-scene.ts";
import { runToEnd } from "../support/run-to-end.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const NAME = "@gastown/bridgeclient";
const NEEDED = ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-node"];
const TYPES = ["@types/node", "undici-types"];
const KIB = 1024;

let dir: string;
/** A project that has installed only the packed SDK. */
let project: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-sdk-"));
  project = join(dir, "project");
  // From a consumer's own folder; npm builds the package first.
  await execa("npm", ["pack", join(root, "pkg/bridgeclient")], { cwd: dir });
  const [packed = ""] = readdirSync(dir).filter((name) => name.endsWith(".tgz"));
  const installed = join(project, "node_modules", NAME);
  await mkdir(installed, { recursive: true });
  await execa("tar", ["-xzf", join(dir, packed), "-C", installed, "--strip-components=1"]);
  for (const name of [...NEEDED, ...TYPES])
    cpSync(join(root, "node_modules", name), join(project, "node_modules", name), { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "consumer", type: "module", private: true }));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

it("the package is packed outside the clone, and contains only built files and no link", async () => {
  const installed = join(project, "node_modules", NAME);
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
  expect(files.filter((file) => /(?<![.]d)[.]ts$/.test(file))).toEqual([]);
  expect(files).toEqual(expect.arrayContaining(["README.md", "package.json", "dist/index.js", "dist/index.d.ts"]));
  for (const file of files) expect((await lstat(join(installed, file))).isSymbolicLink(), file).toBe(false);
  const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  expect(Object.keys(manifest.dependencies)).toEqual(NEEDED);
  const ours = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  for (const name of NEEDED) expect(manifest.dependencies[name], name).toBe(ours.dependencies[name]);
});

const PROGRAM = `
import { BridgeError, createClient, EventType, type SessionEvent } from "@gastown/bridgeclient";

const options = JSON.parse(process.argv[2] ?? "");
await using client = createClient(options);
const projectId: string = options.jwt.projectId;
await client.startSession({ projectId, sessionId: "s1", repoPath: "/repos/one", provider: "demo", agentOpts: { a: "b" } });
const session = client.session("s1");
const { accepted, seq } = await session.sendInput("hello");
const seen: SessionEvent[] = [];
for await (const event of session.events({ subscriberId: "consumer" })) {
  seen.push(event);
  if (event.type === EventType.STDOUT) await session.stop();
}
const refused = await client.getSession({ sessionId: "none" }).catch((err: unknown) => err);
const code = refused instanceof BridgeError ? refused.code : "none";
const page = await client.listSessions({ pageSize: 10 });
console.log(JSON.stringify({ accepted, seq: Number(seq), types: seen.map(({ type }) => type), code, sessions: page.sessions.length }));
`;

describe("in a plain project", () => {
  beforeAll(() => writeFile(join(project, "main.ts"), PROGRAM));

  it("type-checks strictly, its declarations too", async () => {
    const options = {
      ...{ strict: true, skipLibCheck: false, noEmit: false, outDir: "out", rootDir: "." },
      ...{ module: "nodenext", target: "es2022", lib: ["es2023"], types: ["node"] },
    };
    await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["main.ts"] }));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const checked = await runToEnd(process.execPath, [tsc, "-p", project]);
    expect(checked.stdout).toBe("");
  });

  it("runs against a bridge with both layers", async () => {
    await using scene = await BridgeScene.create();
    await build({
      entryPoints: [join(project, "main.ts")],
      outfile: join(project, "main.js"),
      ...{ format: "esm", platform: "node", target: "node22" },
    });
    await stop();
    const args = [join(project, "main.js"), JSON.stringify(scene.options())];
    const { stdout } = await execa(process.execPath, args, { cwd: project });
    expect(JSON.parse(stdout)).toEqual({
      ...{ accepted: true, seq: 3, code: "not_found", sessions: 1 },
      types: [EventType.SESSION_STARTED, EventType.INPUT_RECEIVED, EventType.STDOUT, EventType.SESSION_STOPPED],
    });
  });
});

it("the package has 48 KiB, 220 KiB with its dependencies, and hardly any for an error class alone", async () => {
  const bundled = async (contents: string) => {
    const { metafile } = await build({
      stdin: { contents, resolveDir: project },
      ...{ bundle: true, minify: true, platform: "node", target: "node22", format: "esm" },
      ...{ write: false, outfile: "out.js", metafile: true },
    });
    const [output] = Object.values(metafile.outputs);
    const inputs = Object.entries(output?.inputs ?? {});
    const own = inputs.filter(([path]) => path.includes(NAME)).reduce((sum, [, part]) => sum + part.bytesInOutput, 0);
    return { own, all: output?.bytes ?? 0 };
  };
  const whole = await bundled(`import { createClient } from "${NAME}"; globalThis.used = createClient;`);
  const error = await bundled(`import { BridgeError } from "${NAME}"; globalThis.used = BridgeError;`);
  await stop();
  expect(whole.own / KIB).toBeLessThan(48); // with its own HTTP/2 connections and revocation lists
  expect(whole.all / KIB).toBeLessThan(220);
  expect(error.own / KIB).toBeLessThan(2);
  expect(error.all / KIB).toBeLessThan(4);
});
