import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "vitest";

const run = promisify(execFile);
const PACKAGE = "grpcio==1.85.1";

/** Environment in which `python3` finds gRPC: the machine's, or one that is installed for tests; else the test is skipped. */
export async function pythonWithGrpc(context: TestContext): Promise<NodeJS.ProcessEnv> {
  const folder = join(tmpdir(), "gastown-test-python");
  const installed = { ...process.env, PYTHONPATH: folder };
  for (const env of [process.env, installed]) if (await works(env)) return env;
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder, PACKAGE];
  await run("python3", args, { timeout: 120_000 }).catch(() => {});
  if (await works(installed)) return installed;
  return context.skip(`python3 has no gRPC here; get it with: python3 -m pip install ${PACKAGE}`);
}

async function works(env: NodeJS.ProcessEnv): Promise<boolean> {
  return run("python3", ["-c", "import grpc"], { env }).then(
    () => true,
    () => false,
  );
}
