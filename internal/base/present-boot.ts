import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import type { Boot } from "./machine-time.ts";

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** The machine's present boot. Its id is empty where the system has none, as on macOS. */
export function presentBoot(): Boot {
  return { id: readBootId(), upMs: Math.round(uptime() * 1000) };
}

function readBootId(): string {
  try {
    return readFileSync(BOOT_ID, "utf8").trim().slice(0, 64);
  } catch {
    return "";
  }
}
