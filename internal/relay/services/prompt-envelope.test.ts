import { describe, expect, it } from "vitest";
import { readEnvelope, workOf } from "./prompt-envelope.ts";

const read = (text: string) => readEnvelope(Buffer.from(text));
const file = (filename: unknown, content: unknown) =>
  JSON.stringify({ prompt: "x", attachments: [{ filename, content }] });

describe("a prompt", () => {
  it("is text, or the text in an object; either becomes a task that continues the conversation", () => {
    for (const text of ["hello", '{"prompt":"hello"}', ' \n{"prompt":"hello","attachments":null,"later":1}']) {
      expect(workOf(read(text))).toEqual({ task: "hello", continue: true });
    }
    expect(workOf(read("[1]"))).toEqual({ task: "[1]", continue: true });
  });

  it("has attachments as images, texts and bytes", () => {
    const bytes = Buffer.from([0, 255]).toString("base64");
    const attachments = [
      { filename: "a.PNG", content: "eA==" },
      { filename: "b c.txt", content: Buffer.from("text ü").toString("base64") },
      { filename: "c", content: bytes },
    ];
    expect(workOf(read(JSON.stringify({ prompt: "look", attachments })))).toEqual({
      continue: true,
      prompt: [
        { type: "text", text: "look" },
        { type: "image", mimeType: "image/png", data: "eA==" },
        { type: "resource", resource: { uri: "attachment:///b%20c.txt", mimeType: "text/plain", text: "text ü" } },
        { type: "resource", resource: { uri: "attachment:///c", mimeType: "application/octet-stream", blob: bytes } },
      ],
    });
  });

  it.each([
    ["nothing", ""],
    ["an empty prompt", '{"prompt":""}'],
    ["a prompt that is not text", '{"prompt":["x"]}'],
    ["broken JSON", '{"prompt":"x"'],
    ["attachments that are not a list", '{"prompt":"x","attachments":{}}'],
    ["an attachment without a name", file(undefined, "eA==")],
    ["an empty name", file("", "eA==")],
    ["a long name", file("x".repeat(256), "eA==")],
    ["content without padding", file("a", "eA")],
    ["content in URL-safe base64", file("a", "e-_=")],
    ["content with white space", file("a", "eA==\n")],
    ["deep nesting", `{"prompt":"x","y":${"[".repeat(200)}${"]".repeat(200)}}`],
  ])("is invalid: %s", (_, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });

  it("is invalid in an encoding other than UTF-8", () => {
    expect(() => readEnvelope(Buffer.from([0xff, 0xfe, 0x41]))).toThrow("UTF-8");
  });
});
