import { beforeEach, expect } from "vitest";
import type { DialogView } from "../../../internal/agents/profile.ts";
import { deliver, recoverDelivery } from "../../../internal/pane/delivery/delivery.ts";
import type { DeliveryDeps } from "../../../internal/pane/delivery/delivery-attempt.ts";
import { FakePane, fakeProfile } from "../../fakes/fake-pane.ts";
import { FakeClock } from "../fake-clock.ts";

export const TEXT = "please look at the tests";
export const DIALOG: DialogView = { kind: "permission", title: "Run it?", text: "", choices: [] };
export const { signal } = new AbortController();

export let clock: FakeClock;
export let pane: FakePane;
export let intents: number;
/** Call once in each file that uses this. */
export function useDeliveryBed(): void {
  beforeEach(() => {
    clock = new FakeClock();
    pane = new FakePane(clock);
    intents = 0;
  });
}

export function deps(kind: "known" | "generic" = "known"): DeliveryDeps {
  const sameText = (a: string, b: string) => a === b;
  return { clock, sameText, writer: pane, source: pane, signs: pane, profile: fakeProfile(pane, kind) };
}

export function job(text = TEXT) {
  return {
    buffer: "gt-1",
    text,
    onIntent: () => {
      expect(pane.typed).toEqual([]);
      expect(pane.buffers.get("gt-1")).toBe(text);
      intents++;
    },
  };
}

export const delivered = (kind: "known" | "generic" = "known", text = TEXT) =>
  clock.until(deliver(deps(kind), job(text), signal), 60_000);
export const recovered = (kind: "known" | "generic" = "known") =>
  clock.until(recoverDelivery(deps(kind), job(), signal), 60_000);

/** Checks that nothing was typed and no buffer is left behind. */
export function expectUntouched(): void {
  expect(pane.typed).toEqual([]);
  expect([...pane.buffers.keys()]).toEqual([]);
}
