import { describe, expect, it } from "vitest";
import { sharedCredential } from "./shared-credential.ts";

describe("the search for a credential that both sides have", () => {
  it.each([
    ["ANTHROPIC_API_KEY", "sk-ant-api03-same", "ANTHROPIC_API_KEY"],
    ["ANTHROPIC_API_KEY", "sk-ant-api03-same", "OPENAI"],
    ["LOGIN", "correct horse", "WHO"],
    ["SHORT", "hunter2", "ALSO_SHORT"],
    ["URL", "https://user:pass@proxy.example.com", "URL"],
    ["URL", "https://proxy.example.com/?key=1", "PROXY"],
    ["ANTHROPIC_MODEL", "sk-claude-same", "MODEL"],
    ["NUMBER", "12345678901", "NUMBER"],
  ])("finds it by its value: %s=%s beside %s", (admin, value, user) => {
    expect(sharedCredential({ OTHER: "x1", [admin]: value }, { MINE: "x2", [user]: value })).toBe(user);
  });

  it.each([
    "https://proxy.example.com:8080/v1",
    "claude-sonnet-4-5-20250929",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "gpt-5-codex",
    "us-east-1",
    "true",
    "1",
    "/etc/ssl/ca.pem",
    "",
  ])("ignores a plain setting: %s", (value) => {
    expect(sharedCredential({ API_KEY: value }, { API_KEY: value })).toBeUndefined();
  });

  it("ignores credentials that differ", () => {
    expect(sharedCredential({ API_KEY: "sk-one" }, { API_KEY: "sk-two" })).toBeUndefined();
  });
});
