// Generates internal/gen from proto/, and the gen folders of test/conformance and of an example from the protos beside
// them, with the packaged buf and protoc-gen-es; the pods of deploy/k8s with the builder of the controller's pods; and
// the lists of agent programs. Needs no network.
//
//   npm run generate              write all
//   npm run generate -- --check   name the files that differ from their sources' output, with exit code 1
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { podManifests } from "./generate/pod-manifests.ts";
import { programLists } from "./generate/program-lists.ts";

const root = dirname(import.meta.dirname);
/** The generated folders, by the template that describes their source. */
const GENERATED = {
  "buf.gen.yaml": "internal/gen",
  "test/conformance/buf.gen.yaml": "test/conformance/gen",
  "examples/orchestrator-agentd/buf.gen.yaml": "examples/orchestrator-agentd/gen",
};

function generateInto(folder: string): void {
  const bin = join(root, "node_modules", ".bin");
  const path = [bin, dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  for (const template of Object.keys(GENERATED)) {
    const done = spawnSync(join(bin, "buf"), ["generate", "--template", template, "--output", folder], {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, PATH: path },
    });
    if (done.error) throw done.error;
    if (done.status !== 0) process.exit(done.status ?? 1);
  }
}

function filesOf(folder: string): Map<string, string> {
  const files = new Map<string, string>();
  if (!statSync(folder, { throwIfNoEntry: false })) return files;
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, entry);
    if (statSync(path).isFile()) files.set(entry, readFileSync(path, "utf8"));
  }
  return files;
}

/** The paths of the files that this script generates itself, with their texts. */
function ownFiles(): [path: string, text: string][] {
  const manifests = Object.entries(podManifests()).map(([name, text]): [string, string] => [
    `deploy/k8s/${name}`,
    text,
  ]);
  return [...manifests, ...Object.entries(programLists((path) => readFileSync(join(root, path), "utf8")))];
}

/** The names of generated files that are missing, changed or superfluous. */
function staleFiles(): string[] {
  const scratch = mkdtempSync(join(tmpdir(), "generate-"));
  try {
    generateInto(scratch);
    return Object.values(GENERATED).flatMap((folder) => {
      const wanted = filesOf(join(scratch, folder));
      const present = filesOf(join(root, folder));
      const names = new Set([...wanted.keys(), ...present.keys()]);
      const stale = [...names].filter((name) => wanted.get(name) !== present.get(name)).sort();
      return stale.map((name) => `${folder}/${name}`);
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (process.argv.includes("--check")) {
  const isStale = ([path, text]: [string, string]) => readFileSync(join(root, path), "utf8") !== text;
  const stale = [
    ...staleFiles(),
    ...ownFiles()
      .filter(isStale)
      .map(([path]) => path),
  ];
  for (const name of stale) console.error(`stale: ${name}`);
  if (stale.length > 0) {
    console.error("run: npm run generate");
    process.exit(1);
  }
} else {
  generateInto(root);
  for (const [path, text] of ownFiles()) writeFileSync(join(root, path), text);
}
