// Runs every test that needs a cluster or containers, in full; npm test runs a part of them.
//
//   npm run e2e                    the image, its hostile neighbours, and a pod on a Kubernetes node
//   npm run e2e -- PATTERN …       the matching files; vitest's own options work too
//
// The last line is "N passed, N failed, N skipped". KUBECONFIG names an existing cluster to use (the image is loaded
// into a kind cluster; for other clusters GT_E2E_IMAGE names an image that they already have).
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countsLine, plus } from "./testing/counts.ts";
import { prepareTests } from "./testing/prepare-tests.ts";
import { runVitest } from "./testing/run-vitest.ts";

const FILES = ["test/e2e/image", "test/e2e/hostile", "test/e2e/cluster"];

process.env["GT_E2E"] = "full";
process.env["GT_TEST_ORPHANS"] ??= "10000";
const patterns = process.argv.slice(2);
const scratch = await mkdtemp(join(tmpdir(), "gt-e2e-"));
try {
  const setUp = await prepareTests(scratch);
  const tests = await runVitest(["--project", "e2e", ...(patterns.length > 0 ? patterns : FILES)], scratch);
  const counts = plus(setUp, tests);
  console.log(countsLine(counts));
  process.exitCode = counts.failed > 0 ? 1 : 0;
} finally {
  await rm(scratch, { recursive: true, force: true });
}
