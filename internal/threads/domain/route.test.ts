import { expect, it } from "vitest";
import { recipientsOf } from "./route.ts";

const MEMBERS = [
  { agentId: "reviewer-1", role: "reviewer" },
  { agentId: "reviewer-2", role: "reviewer" },
  { agentId: "fixer", role: "fixer" },
  { agentId: "me", role: "" },
];

it.each([
  ["everybody without an address", {}, undefined],
  ["everybody for empty lists", { to: [], toRole: [] }, undefined],
  ["those named", { to: ["fixer"] }, ["fixer"]],
  ["those of a role", { toRole: ["reviewer"] }, ["reviewer-1", "reviewer-2"]],
  [
    "both together, each once",
    { to: ["fixer", "reviewer-1"], toRole: ["reviewer"] },
    ["reviewer-1", "reviewer-2", "fixer"],
  ],
] as const)("FR-3: reaches %s", (_, address, wanted) => {
  expect(recipientsOf(address, MEMBERS)).toEqual(wanted);
});

it.each([
  ["an agent outside the thread", { to: ["fixer", "nobody"] }, /"nobody" is not a participant/],
  ["a role without a holder", { toRole: ["auditor"] }, /the role "auditor"/],
])("FR-3: refuses %s, and lists the valid ones", (_, address, message) => {
  expect(() => recipientsOf(address, MEMBERS)).toThrow(message);
  try {
    recipientsOf(address, MEMBERS);
  } catch (err) {
    expect(err).toMatchObject({ fields: { code: "UNKNOWN_RECIPIENT", hint: expect.stringContaining("reviewer") } });
  }
});
