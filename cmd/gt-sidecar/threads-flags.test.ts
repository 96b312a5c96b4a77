import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { missingForTools, readThreadsFlags } from "./threads-flags.ts";

const TOKEN = { "threads-token": "/keys/a.token" };
const read = (threads: string, more: object = TOKEN) => readThreadsFlags({ threads, ...more }, ["--threads", threads]);

describe("the tools of threads", () => {
  it.each(["http://127.0.0.1:9448", "http://[::1]:9448", "http://localhost:9448", "https://threads.example:9448"])(
    "use the server %s",
    (url) => {
      const tools = read(url);
      expect(tools?.command.slice(-2)).toEqual(["threads", "mcp"]);
      expect(tools?.env).toEqual({
        GT_THREADS: url,
        GT_THREADS_TOKEN_FILE: "/keys/a.token",
      });
    },
  );

  it.each(["threads", "ftp://127.0.0.1", "http://user@127.0.0.1:1", "http://127.0.0.1:1/?a=b"])(
    "are refused for %s, which is not the URL of a server",
    (url) => expect(() => read(url)).toThrow(/takes a URL/),
  );

  it("are refused if a token would leave the machine in plaintext", () => {
    expect(() => read("http://threads.example:9448")).toThrow(/plaintext/);
  });

  it("name the CA of the server's certificate if one is given", () => {
    const tools = read("https://threads.example:9448", { ...TOKEN, "threads-ca": "/keys/ca.crt" });
    expect(tools?.env).toMatchObject({ GT_THREADS_CA: "/keys/ca.crt" });
  });

  it("need a token if the flag asks for the tools", () => {
    expect(() => read("http://127.0.0.1:9448", {})).toThrow(/--threads-token/);
  });

  it("are absent if the environment names only the server or only the token", () => {
    expect(readThreadsFlags({ threads: "http://127.0.0.1:9448" }, [])).toBeUndefined();
    expect(readThreadsFlags(TOKEN, [])).toBeUndefined();
  });

  it("cannot be used while a named file is missing or empty", () => {
    const dir = mkdtempSync(join(tmpdir(), "gt-threads-"));
    try {
      const files = { "threads-token": join(dir, "a.token"), "threads-ca": join(dir, "ca.crt") };
      const tools = read("https://threads.example:9448", files);
      const missing = () => tools && missingForTools(tools);
      expect(missing()).toEqual({ file: files["threads-token"], reason: "there is no such file" });
      writeFileSync(files["threads-token"], "");
      expect(missing()).toEqual({ file: files["threads-token"], reason: "it is empty" });
      writeFileSync(files["threads-token"], "e30.e30.e30\n");
      expect(missing()).toEqual({ file: files["threads-ca"], reason: "there is no such file" });
      writeFileSync(files["threads-ca"], "a certificate");
      expect(missing()).toBeUndefined();
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
