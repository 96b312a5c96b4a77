import type { Arrived, FaultKind } from "./judge.ts";
import type { Sample } from "./send.ts";

export const ARRIVED: readonly Arrived[] = ["nothing", "once", "changed", "twice"];
export const FAULTS: readonly FaultKind[] = ["lost", "doubled", "wrong", "dialog", "draft"];

/** The number of receipts with each outcome, for one receipt mode in one state. */
export interface MatrixRow {
  readonly target: string;
  readonly state: string;
  readonly told: string;
  readonly counts: Readonly<Record<Arrived, number>>;
  readonly faults: number;
}

export interface Figures {
  readonly sends: number;
  readonly faults: Readonly<Record<FaultKind, number>>;
  readonly idleSafe: Taken;
  /** The part of `idleSafe` whose text is in many scripts. */
  readonly mixedScripts: Taken;
}

/** The number of messages sent, and of those with the outcomes submitted and unknown. */
interface Taken {
  readonly sends: number;
  readonly submitted: number;
  readonly unknown: number;
}

export function matrix(samples: readonly Sample[]): readonly MatrixRow[] {
  const cells = Map.groupBy(samples, ({ target, state, told }) => JSON.stringify([target, state, told]));
  return [...cells].map(([key, list]) => {
    const [target, state, told] = JSON.parse(key) as [string, string, string];
    const counts = Object.fromEntries(ARRIVED.map((name) => [name, list.filter((s) => s.arrived === name).length]));
    const faults = list.filter((sample) => sample.faults.length > 0).length;
    return { target, state, told, counts: counts as Record<Arrived, number>, faults };
  });
}

export function figuresOf(samples: readonly Sample[]): Figures {
  const idleSafe = samples.filter(isIdleSafe);
  const faults = Object.fromEntries(FAULTS.map((kind) => [kind, countFaults(samples, kind)]));
  return {
    sends: samples.length,
    faults: faults as Record<FaultKind, number>,
    idleSafe: takenOf(idleSafe),
    mixedScripts: takenOf(idleSafe.filter(({ kind }) => kind.endsWith("mixed scripts"))),
  };
}

function takenOf(samples: readonly Sample[]): Taken {
  const count = (told: Sample["told"]) => samples.filter((sample) => sample.told === told).length;
  return { sends: samples.length, submitted: count("submitted"), unknown: count("unknown") };
}

/** True for an idle agent, a text without special meaning to any program, no short ttl and no cancellation. */
function isIdleSafe({ state, isSafe, mode }: Sample): boolean {
  return state === "idle" && isSafe && mode !== "queue, short ttl" && mode !== "queue, cancelled";
}

/** True if the call waited for the end, and the message's length does not dominate its duration. */
export function isTimed(sample: Sample): boolean {
  return isIdleSafe(sample) && sample.mode !== "queue" && !sample.kind.startsWith("64 KiB");
}

function countFaults(samples: readonly Sample[], kind: FaultKind): number {
  return samples.filter((sample) => sample.faults.some((fault) => fault.kind === kind)).length;
}

/** A count, with the 95 % bound of its rate beside a zero (rule of three). */
export function bounded(count: number, of: number): string {
  if (count > 0) return `**${count}**`;
  return of === 0 ? "0" : `0 (≤ ${((3 / of) * 100).toPrecision(2)} %)`;
}
