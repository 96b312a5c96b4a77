import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";

/**
 * The program's file, found as a shell would. Looked up before anything is started, so that a missing agent is one line.
 * @throws DomainError `not-found`
 */
export function findProgram(program: string, path: string, workdir: string): string {
  const places = program.includes("/")
    ? [isAbsolute(program) ? program : resolve(workdir, program)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((dir) => join(dir, program));
  const found = places.find(isExecutable);
  if (found !== undefined) return found;
  throw new DomainError("not-found", `no program ${JSON.stringify(program)} found`, {
    fields: {
      hint: program.includes("/")
        ? "is the path right, and may it be executed?"
        : "install it, or give its path behind --",
    },
  });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
