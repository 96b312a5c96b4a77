import { type Boot, MachineTime } from "../../internal/base/machine-time.ts";
import { FakeClock } from "./fake-clock.ts";

/**
 * The time of a machine that was booted a year ago. Two with the same `id` and clock are the same machine, seen by two
 * processes.
 */
export function machineTime(clock = new FakeClock(), boot: Partial<Boot> = {}): MachineTime {
  return new MachineTime(clock, { id: "this boot", upMs: 365 * 86_400_000 + clock.monotonicMs(), ...boot });
}
