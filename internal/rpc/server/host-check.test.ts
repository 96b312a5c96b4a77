import { describe, expect, it } from "vitest";
import { hostRefusal } from "./host-check.ts";

const check = { allowHosts: ["sidecar.example", "My-Laptop"] };

describe("Host", () => {
  it.each([
    "localhost",
    "localhost:9090",
    "LOCALHOST",
    "localhost.",
    "127.0.0.1:9090",
    "10.1.2.3",
    "[::1]:9090",
    "[fd00::1]",
    "sidecar.example:9090",
    "my-laptop",
  ])("%s is answered", (host) => {
    expect(hostRefusal(host, null, check)).toBeUndefined();
  });

  it.each([
    "evil.example",
    "evil.example:9090",
    "localhost.evil.example",
    "xlocalhost",
    "a.localhost",
    "127.0.0.1.evil.example",
  ])("%s is refused by name", (host) => {
    expect(hostRefusal(host, null, check)).toContain("--allow-host");
  });

  it.each([undefined, "", "a b", "127.0.0.1:99999", ":80"])("%j is not a host", (host) => {
    expect(hostRefusal(host, null, check)).toBe("the request names no host");
  });
});

it("a server with certificates accepts any Host, and still no page's Origin", () => {
  const tls = { allowHosts: [], anyHost: true };
  expect(hostRefusal("pod.agents.svc:9090", null, tls)).toBeUndefined();
  expect(hostRefusal("pod.agents.svc:9090", "https://evil.example", tls)).toContain("origin");
});

it("names the flag that adds a host only if there is one", () => {
  const fixed = { allowHosts: [], isFixed: true };
  for (const refused of [
    hostRefusal("evil.example", null, fixed),
    hostRefusal("[::1]", "https://evil.example", fixed),
  ]) {
    expect(refused).toContain("may not call");
    expect(refused).not.toContain("--");
  }
});

describe("Origin", () => {
  it.each([
    null,
    undefined,
    "http://localhost:3000",
    "https://127.0.0.1",
    "http://127.8.8.8",
    "http://[::1]:1",
    "https://sidecar.example",
  ])("%s is answered", (origin) => {
    expect(hostRefusal("localhost", origin, check)).toBeUndefined();
  });

  it.each(["https://evil.example", "null", "", "http://10.1.2.3", "http://128.0.0.1", "file://", "http://[::2]"])(
    "%j is refused",
    (origin) => {
      expect(hostRefusal("localhost", origin, check)).toContain("origin");
    },
  );

  it("of any length is quoted in a sentence of bounded length", () => {
    expect(hostRefusal("localhost", `https://${"x".repeat(10_000)}`, check)?.length).toBeLessThan(300);
  });
});
