import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { SessionLedger } from "./session-ledger.ts";

it("reports to callers why it cannot record a session", () => {
  const folder = "/dev/null/sessions";
  const ledger = new SessionLedger({ clock: new FakeClock(), logger: silentLogger }, folder);
  const session = { project: "p", sessionId: "s", repoPath: "/srv", cwd: "/srv", options: {} };
  expect(() => ledger.begin("demo", session)).toThrow(
    expect.objectContaining({ kind: "unavailable", message: "the state folder cannot be written: not a directory" }),
  );
});

it("returns what a killed daemon lost, as it was requested, and once", () => {
  const folder = mkdtempSync(join(tmpdir(), "gt-ledger-"));
  try {
    const open = () => new SessionLedger({ clock: new FakeClock(), logger: silentLogger }, folder);
    const place = { project: "p1", repoPath: "/srv/one", cwd: "/proc/self/fd/9" };
    const asked = { agentOpts: { mode: "stdio", raw: "true" }, createdAt: 5 };
    open().begin("demo", { ...place, sessionId: "s1", options: { raw: "true" }, asked });
    open().begin("demo", { ...place, sessionId: "s2", options: {} });
    open().end({ project: "p1", sessionId: "s2" });
    const request = { project: "p1", id: "s1", provider: "demo", repoPath: "/srv/one", agentOpts: asked.agentOpts };
    expect(open().lost()).toMatchObject([{ isLost: true, config: { createdAt: 5, request } }]);
    expect(open().lost()).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
