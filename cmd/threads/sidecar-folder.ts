import { runtimeFolder } from "../../internal/files/private-folder.ts";
import type { CommonSettings } from "./config.ts";

/** The folder in which sidecars of this user, and `threads`, are found. */
export function sidecarFolder({ runtimeDir }: Pick<CommonSettings, "runtimeDir">): string {
  const uid = process.getuid?.() ?? 0;
  return runtimeFolder({ uid, xdgRuntimeDir: runtimeDir });
}
