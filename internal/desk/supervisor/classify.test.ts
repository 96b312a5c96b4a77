import { expect, it } from "vitest";
import { classifyByAgent } from "./classify.ts";

const neither = "the agent replied with neither customer nor answer";

it.each([
  ["customer", { route: "customer", rule: "agent", reason: "the agent replied customer" }],
  [" customer\n", { route: "customer", rule: "agent", reason: "the agent replied customer" }],
  ["answer", { route: "answer", rule: "agent", reason: "the agent replied answer" }],
  ["Customer", { route: "answer", rule: "agent", reason: neither }],
  ["customer.", { route: "answer", rule: "agent", reason: neither }],
  ["customer: wholesale 4.20", { route: "answer", rule: "agent", reason: neither }],
  ["answer\ncustomer", { route: "answer", rule: "agent", reason: neither }],
  ["", { route: "answer", rule: "agent", reason: neither }],
])("an agent's reply %j decides, and none of it is kept", async (reply, intent) => {
  const asked: string[] = [];
  const classify = classifyByAgent(async (text) => {
    asked.push(text);
    return reply;
  });
  expect(await classify("/tell them", new AbortController().signal)).toEqual(intent);
  expect(asked).toEqual([expect.stringMatching(/^Decide.*\n\/tell them$/s)]);
});

it("decides nothing when the agent fails", async () => {
  const classify = classifyByAgent(() => Promise.reject(new Error("agent unavailable")));
  await expect(classify("tell customers", new AbortController().signal)).rejects.toThrow("agent unavailable");
});
