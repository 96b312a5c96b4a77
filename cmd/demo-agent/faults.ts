import { parseDurationMs } from "../../internal/base/duration.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { nearestName } from "../../internal/cli/nearest-name.ts";
import { type Faults, noFaults } from "../../internal/demo/options.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Apply = (faults: Mutable<Faults>, value: string) => void;

const FAULTS: Readonly<Record<string, { readonly takesValue: boolean; readonly apply: Apply }>> = {
  "drop-first-enter": flag((faults) => (faults.dropFirstEnter = true)),
  "echo-delay": value((faults, text) => (faults.echoDelayMs = milliseconds("echo-delay", text))),
  "no-bracketed-paste": flag((faults) => (faults.noBracketedPaste = true)),
  "flicker-idle": value((faults, text) => (faults.flickerIdleMs = milliseconds("flicker-idle", text))),
  "exit-on": value((faults, text) => (faults.exitOn = text)),
  "exit-code": value((faults, text) => (faults.exitCode = exitCode(text))),
  "hang-on": value((faults, text) => (faults.hangOn = text)),
  "eat-enter-after-paste": value(
    (faults, text) => (faults.eatEnterAfterPasteMs = milliseconds("eat-enter-after-paste", text)),
  ),
  "open-dialog-on-paste": flag((faults) => (faults.openDialogOnPaste = true)),
  "spinner-always": flag((faults) => (faults.spinnerAlways = true)),
  "slow-start": value((faults, text) => (faults.slowStartMs = milliseconds("slow-start", text))),
  garbage: flag((faults) => (faults.garbage = true)),
  "torn-drawing": value((faults, text) => (faults.tornDrawingMs = milliseconds("torn-drawing", text))),
};

/** The values that `--faults` takes. */
export const FAULT_NAMES: readonly string[] = Object.keys(FAULTS);

/** Reads `--faults`: names, some with `=VALUE`. @throws DomainError `invalid` */
export function readFaults(list: readonly string[]): Faults {
  const faults: Mutable<Faults> = { ...noFaults };
  for (const item of list.filter((text) => text !== "")) {
    const at = item.indexOf("=");
    const name = at < 0 ? item : item.slice(0, at);
    const fault = FAULTS[name];
    if (fault === undefined) throw unknownFault(name);
    if (fault.takesValue !== at >= 0) {
      throw new DomainError("invalid", `fault ${name} ${fault.takesValue ? "needs" : "takes no"} =VALUE`);
    }
    fault.apply(faults, item.slice(at + 1));
  }
  return faults;
}

function unknownFault(name: string): DomainError {
  const nearest = nearestName(name, Object.keys(FAULTS));
  const hint = nearest === undefined ? "--help lists the faults" : `did you mean ${nearest}?`;
  return new DomainError("invalid", `unknown fault "${name}"`, { fields: { hint } });
}

function flag(set: (faults: Mutable<Faults>) => void) {
  return { takesValue: false, apply: set };
}

function value(apply: Apply) {
  return { takesValue: true, apply };
}

function milliseconds(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  try {
    return parseDurationMs(text);
  } catch {
    throw new DomainError("invalid", `fault ${name} needs milliseconds, not "${text}"`);
  }
}

function exitCode(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) {
    throw new DomainError("invalid", `fault exit-code needs 0 to 255, not "${text}"`);
  }
  return Number(text);
}
