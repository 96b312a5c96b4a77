import type { Measured } from "../report/row.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import { measureHop } from "./hop.ts";
import { measureInformer } from "./informer.ts";
import { measureLoad } from "./load.ts";
import { measurePods } from "./pods.ts";
import { measureRolling } from "./rolling.ts";
import { measureSidecars } from "./sidecars.ts";
import { measureStarts } from "./starts.ts";

export const MEASURES = {
  informer: measureInformer,
  pods: measurePods,
  rolling: measureRolling,
  starts: measureStarts,
  hop: measureHop,
  load: measureLoad,
  sidecars: measureSidecars,
} as const satisfies Record<string, (bench: ClusterBench) => Promise<readonly Measured[]>>;

export type Part = keyof typeof MEASURES;

export const PARTS = Object.keys(MEASURES) as readonly Part[];
