import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { TestContext } from "vitest";

/** The system's own comes second: distributions have gRPC as a package for that one. */
const CANDIDATES = ["python3", "/usr/bin/python3"];

/** A Python that has gRPC. */
export async function grpcPython(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const python of CANDIDATES) {
    const works = await promisify(execFile)(python, ["-c", "import grpc"], { env }).then(Boolean, () => false);
    if (works) return python;
  }
  return undefined;
}

/** As `requireComponent`. */
export async function requireGrpcPython(context: TestContext): Promise<string> {
  const python = await grpcPython(process.env);
  if (python !== undefined) return python;
  const missing = "python3 has no gRPC here; get it with: apt-get install python3-grpcio, or pip install grpcio";
  if (process.env["CI"] === "true") throw new Error(missing);
  return context.skip(missing);
}
