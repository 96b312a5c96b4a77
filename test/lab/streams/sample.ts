import { join } from "node:path";
import { anonymousMiB, residentMiB, tmuxPid } from "../../../bench/proc.ts";
import type { RunningSidecar } from "../../support/sidecar/sidecar.ts";
import { descriptors } from "../held.ts";

/** The resources of a run at one moment; a part that is restarting at that moment counts as NaN. */
export interface Sample {
  readonly atSeconds: number;
  readonly servingPid: number;
  readonly servingMiB: number;
  readonly servingDescriptors: number;
  readonly supervisingMiB: number;
  readonly supervisingDescriptors: number;
  readonly tmuxMiB: number;
}

export function takeSample(sidecar: RunningSidecar, atSeconds: number): Sample {
  const [serving, supervising] = [sidecar.servingPid(), sidecar.process.pid ?? 0];
  return {
    atSeconds: Math.round(atSeconds),
    servingPid: serving,
    servingMiB: orNaN(() => anonymousMiB(serving)),
    servingDescriptors: orNaN(() => descriptors(serving)),
    supervisingMiB: orNaN(() => anonymousMiB(supervising)),
    supervisingDescriptors: orNaN(() => descriptors(supervising)),
    tmuxMiB: orNaN(() => residentMiB(tmuxPid(join(sidecar.stateDir, "tmux.sock")))),
  };
}

function orNaN(read: () => number): number {
  try {
    return read();
  } catch {
    return Number.NaN;
  }
}
