import { runtimeFolders } from "../../internal/files/private-folder.ts";
import { listAllSidecars } from "../../internal/terminal/finding/local-sidecars.ts";

/**
 * `name`, or `name-2`, `name-3` … if agents of that name run on this machine already: the printed commands must be
 * unambiguous.
 */
export async function freeAddress(name: string, xdgRuntimeDir: string | undefined): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const folders = runtimeFolders(xdgRuntimeDir === undefined ? { uid } : { uid, xdgRuntimeDir });
  // A folder that another user has created is skipped here: gt itself reports it.
  const taken = new Set((await listAllSidecars(folders, () => [])).map((sidecar) => sidecar.agent));
  let address = name;
  for (let number = 2; taken.has(address); number++) address = `${name}-${number}`;
  return address;
}
