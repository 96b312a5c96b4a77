import { expect, it } from "vitest";
import { readCodexRequest } from "./codex-requests.ts";

const decision = { allow: { decision: "accept" }, deny: { decision: "decline" } };
const declined = { action: "decline", content: null, _meta: null };

it.each([
  { ask: "item/commandExecution", params: { command: "rm x", reason: "why" }, text: "rm x", answers: decision },
  { ask: "item/commandExecution", params: { reason: "network" }, text: "network", answers: decision },
  { ask: "item/fileChange", params: {}, text: "a.ts", answers: decision },
  {
    ask: "item/permissions",
    params: { permissions: { network: true }, reason: "r" },
    text: "r",
    answers: { allow: { permissions: { network: true }, scope: "turn" }, deny: { permissions: {}, scope: "turn" } },
  },
])("$ask asks for a decision on $params", ({ ask, params, text, answers }) => {
  const request = readCodexRequest(`${ask}/requestApproval`, params, "a.ts");
  expect(request).toMatchObject({ question: { kind: "permission", text }, answers });
});

it.each([
  {
    method: "item/tool/requestUserInput",
    params: { questions: [{ question: "Which?", options: [{ label: "A" }] }] },
    text: "Which? [A]",
    answer: { answers: {} },
  },
  { method: "mcpServer/elicitation/request", params: { message: "Name?" }, text: "Name?", answer: declined },
])("$method asks for something that no person can answer", ({ method, params, text, answer }) => {
  const request = readCodexRequest(method, params, "");
  expect(request).toMatchObject({ question: { kind: "question", text }, answers: { allow: answer, deny: answer } });
});

it("treats other requests as unknown", () => {
  expect(readCodexRequest("attestation/generate", {}, "")).toBeUndefined();
});
