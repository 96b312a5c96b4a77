import { beforeEach } from "vitest";
import type { AgentProfile, DialogView } from "../../../internal/agents/profile.ts";
import { StateMonitor } from "../../../internal/pane/state/state-monitor.ts";
import { composerOf, FakePane, fakeProfile } from "../../fakes/fake-pane.ts";
import { FakeClock } from "../fake-clock.ts";

export const { signal } = new AbortController();
export const SHOWN_DIALOG: DialogView = { kind: "permission", title: "Run it?", text: "rm x", choices: [] };

/** Each test that imports this has a monitor of its own. */
export let clock: FakeClock;
export let pane: FakePane;
export let monitor: StateMonitor;
export let changes: number;
/** Call once in each file that uses this. */
export function useStateMonitor(): void {
  beforeEach(() => {
    clock = new FakeClock();
    pane = new FakePane(clock);
    monitorProfile(fakeProfile(pane));
    changes = 0;
    monitor.changes.listen(() => {
      changes++;
    });
  });
}

/** Makes another monitor, of an agent with this profile. */
export function monitorProfile(profile: AgentProfile): void {
  monitor = new StateMonitor({ clock, profile, source: pane }, { stallAfterMs: 60_000 });
}

export function forgetChanges(): void {
  changes = 0;
}

export const state = async () => (await monitor.look(signal)).state;
export const idleComposer = composerOf("");
