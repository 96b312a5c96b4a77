import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/**
 * The program's file, found as a shell would: by its path from `workdir`, or by its name on `path`, whose relative
 * entries do not count. Undefined if there is no executable file.
 */
export function locateProgram(program: string, path: string, workdir: string): string | undefined {
  const places = program.includes("/")
    ? [isAbsolute(program) ? program : resolve(workdir, program)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((dir) => join(dir, program));
  return places.find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
