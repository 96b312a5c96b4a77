import { describe, expect, it } from "vitest";
import { checkListen, formatListen, parseListen, withFixedPort } from "./listen.ts";

const invalid = expect.objectContaining({ kind: "invalid" });

describe("an address to listen on", () => {
  it.each([
    ["127.0.0.1:9090", { host: "127.0.0.1", port: 9090 }],
    ["[::1]:0", { host: "::1", port: 0 }],
    ["localhost:65535", { host: "localhost", port: 65_535 }],
    ["0.0.0.0:9090", { host: "0.0.0.0", port: 9090 }],
  ])("%s", (text, address) => {
    expect(parseListen(text, "--listen")).toEqual(address);
    expect(formatListen(address)).toBe(text);
  });

  it.each(["9090", ":9090", "host", "host:", "host:65536", "host:-1", "::1:9090", "[::1]", "[host]:1", "a:1:2", ""])(
    "not %j",
    (text) => {
      expect(() => parseListen(text, "--listen")).toThrow(invalid);
      expect(() => parseListen(text, "--listen")).toThrow("--listen");
    },
  );
});

describe("plaintext", () => {
  const plain = { tls: false, insecure: false };
  it.each(["127.0.0.1", "127.9.9.9", "::1", "localhost"])("is served on %s", (host) => {
    checkListen({ host, port: 1 }, plain);
  });

  it.each(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.com", "example.com"])(
    "is not served on %s without a flag for it, and TLS is",
    (host) => {
      expect(() => checkListen({ host, port: 1 }, plain)).toThrow(invalid);
      checkListen({ host, port: 1 }, { tls: true, insecure: false });
      checkListen({ host, port: 1 }, { tls: false, insecure: true });
    },
  );
});

it("picks a port once if the port is 0", async () => {
  expect(await withFixedPort({ host: "127.0.0.1", port: 7 })).toEqual({ host: "127.0.0.1", port: 7 });
  expect((await withFixedPort({ host: "127.0.0.1", port: 0 })).port).toBeGreaterThan(0);
});

it("never gives two listeners of one sidecar the same port", async () => {
  const numbers = [7, 8];
  const pick = () => numbers.shift() ?? 9;
  const { port } = await withFixedPort({ host: "127.0.0.1", port: 0 }, 20_007, pick);
  expect(port).not.toBe(20_007);
});

describe("a unix socket", () => {
  it("is read as an absolute path where a flag allows it, and written the same way", () => {
    const address = parseListen("unix:/run/a/b.sock", "--listen", { unix: true });
    expect(address).toEqual({ host: "", port: 0, path: "/run/a/b.sock" });
    expect(formatListen(address)).toBe("unix:/run/a/b.sock");
    expect(parseListen("unix:b.sock", "--listen", { unix: true }).path).toBe(`${process.cwd()}/b.sock`);
    expect(() => parseListen("unix:/run/a/b.sock", "--health-listen")).toThrow(invalid);
  });

  it("is refused with TLS, and in a folder that others may write to", () => {
    const listen = { host: "", port: 0, path: "/tmp/b.sock" };
    expect(() => checkListen(listen, { tls: true, insecure: false })).toThrow("without TLS");
    expect(() => checkListen(listen, { tls: false, insecure: true })).toThrow("/tmp");
  });
});
