import { DomainError } from "../../internal/base/errors.ts";
import { locateProgram } from "../../internal/process/locate-program.ts";

/**
 * The program's file, found as a shell would. Looked up before anything is started, so that a missing agent gives one
 * clear error.
 * @throws DomainError `not-found`
 */
export function findAgentProgram(program: string, path: string, workdir: string): string {
  const found = locateProgram(program, path, workdir);
  if (found !== undefined) return found;
  throw new DomainError("not-found", `no program ${JSON.stringify(program)} found`, {
    fields: {
      hint: program.includes("/")
        ? "is the path right, and is the file executable?"
        : "install it, or give its path after --",
    },
  });
}
