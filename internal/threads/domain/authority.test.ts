import { describe, expect, it } from "vitest";
import { classOf, judgeMark, judgeTransition, type RoleClass } from "./authority.ts";
import type { ThreadStatus } from "./types.ts";

const STATUSES: readonly ThreadStatus[] = ["active", "blocked", "resolved", "closed"];

/** The required permissions of worker, orchestrator and operator; `d`: not while disputed, `o`: only its own block. */
const TABLE: Readonly<Record<string, readonly [worker: string, orchestrator: string, operator: string]>> = {
  "active blocked": ["yes", "yes", "yes"],
  "blocked active": ["o", "yes", "yes"],
  "active resolved": ["d", "d", "yes"],
  "blocked resolved": ["d", "d", "yes"],
  "resolved active": ["yes", "yes", "yes"],
  "active closed": ["no", "d", "yes"],
  "blocked closed": ["no", "d", "yes"],
  "resolved closed": ["no", "d", "yes"],
  "closed active": ["no", "no", "yes"],
};
const ROLES: readonly RoleClass[] = ["worker", "orchestrator", "operator"];

describe("FR-13: the right to change a thread's status", () => {
  for (const from of STATUSES)
    for (const to of STATUSES)
      for (const [index, role] of ROLES.entries())
        for (const disputed of [false, true])
          for (const ownBlock of [false, true]) {
            const rule = TABLE[`${from} ${to}`]?.[index];
            const allowed = rule === "yes" || (rule === "d" && !disputed) || (rule === "o" && ownBlock);
            const wanted = rule === undefined ? "invalid" : allowed ? "allowed" : "authority";
            it(`${role}: ${from} → ${to}${disputed ? ", disputed" : ""}${ownBlock ? ", own block" : ""}: ${wanted}`, () => {
              expect(judgeTransition(from, to, { role, disputed, ownBlock })).toBe(wanted);
            });
          }

  it("lets an auditor change nothing", () => {
    for (const from of STATUSES)
      for (const to of STATUSES) {
        const verdict = judgeTransition(from, to, { role: "auditor", disputed: false, ownBlock: true });
        expect(verdict).not.toBe("allowed");
      }
  });
});

it.each([
  ["worker", true, "allowed"],
  ["worker", false, "authority"],
  ["orchestrator", true, "allowed"],
  ["orchestrator", false, "authority"],
  ["operator", true, "allowed"],
  ["operator", false, "allowed"],
  ["auditor", true, "authority"],
] as const)("allows %s to set a mark to %s: %s", (role, set, verdict) => {
  expect(judgeMark(set, { role })).toBe(verdict);
});

it.each([
  ["operator", "bob", "boss", "operator"],
  ["auditor", "eve", undefined, "auditor"],
  ["orchestrator", "boss", undefined, "orchestrator"],
  ["orchestrator", "boss", "boss", "orchestrator"],
  ["orchestrator", "other", "boss", "worker"],
  ["reviewer", "boss", "boss", "worker"],
])("FR-12: the role %s of %s, with %s named, has the class %s", (role, agent, named, wanted) => {
  expect(classOf(role, agent, named)).toBe(wanted);
});
