import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { TestContext } from "vitest";

/** The second is the system's Python, for which distributions package gRPC. */
const CANDIDATES = ["python3", "/usr/bin/python3"];

/** The Debian packages that the Python tests need. */
export const PYTHON_PACKAGES = ["python3-grpcio", "python3-protobuf", "python3-jwt", "python3-cryptography"];

/** A Python with gRPC and these modules; undefined if there is none. */
export async function grpcPython(env: NodeJS.ProcessEnv, ...more: readonly string[]): Promise<string | undefined> {
  for (const python of CANDIDATES) {
    const works = await promisify(execFile)(python, ["-c", `import ${["grpc", ...more].join(", ")}`], { env }).then(
      Boolean,
      () => false,
    );
    if (works) return python;
  }
  return undefined;
}

/** Returns such a Python, or skips the test with a line that says what to install; with `CI=true` that is a failure. */
export async function requireGrpcPython(context: TestContext, ...more: readonly string[]): Promise<string> {
  const python = await grpcPython(process.env, ...more);
  if (python !== undefined) return python;
  const missing = `python3 has no ${["grpc", ...more].join(", ")} here: apt-get install ${PYTHON_PACKAGES.join(" ")}`;
  if (process.env["CI"] === "true") throw new Error(missing);
  return context.skip(missing);
}
