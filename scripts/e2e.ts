// Everything that needs a cluster or containers, in full; npm test runs a part of it.
//
//   npm run e2e                    the image, its hostile neighbours, and a pod on a Kubernetes node
//   npm run e2e -- PATTERN …       the files that match; vitest's own options work too
//
// KUBECONFIG names a cluster to use (kind: the image is loaded into it; else GT_E2E_IMAGE names one that it has).
import { spawn } from "node:child_process";
import { packaged, root, toolEnvironment } from "./step.ts";

const FILES = ["test/e2e/image", "test/e2e/hostile", "test/e2e/cluster"];

const patterns = process.argv.slice(2);
const child = spawn(packaged("vitest"), ["run", "--project", "e2e", ...(patterns.length > 0 ? patterns : FILES)], {
  cwd: root,
  env: { ...toolEnvironment(), GT_E2E: "full", GT_TEST_ORPHANS: process.env["GT_TEST_ORPHANS"] ?? "10000" },
  stdio: "inherit",
});
child.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
