import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { TestContext } from "vitest";

/** The system's own comes second: distributions have gRPC as a package for that one. */
const CANDIDATES = ["python3", "/usr/bin/python3"];

/** What the tests in Python need, as Debian names it. */
export const PYTHON_PACKAGES = ["python3-grpcio", "python3-protobuf", "python3-jwt", "python3-cryptography"];

/** A Python that has gRPC, and these modules too. */
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

/** As `requireComponent`. */
export async function requireGrpcPython(context: TestContext, ...more: readonly string[]): Promise<string> {
  const python = await grpcPython(process.env, ...more);
  if (python !== undefined) return python;
  const missing = `python3 has no ${["grpc", ...more].join(", ")} here; get it with: apt-get install ${PYTHON_PACKAGES.join(" ")}`;
  if (process.env["CI"] === "true") throw new Error(missing);
  return context.skip(missing);
}
