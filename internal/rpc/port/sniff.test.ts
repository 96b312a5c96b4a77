import { expect, it } from "vitest";
import { httpVersionOf } from "./sniff.ts";

it.each([
  ["", undefined],
  ["P", undefined],
  ["PR", undefined],
  ["PRI", undefined],
  ["PRI ", "2"],
  ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "2"],
  ["G", "1"],
  ["GET / HTTP/1.1", "1"],
  ["PO", "1"],
  ["PROPFIND", "1"],
  ["PRIX", "1"],
  ["pri ", "1"],
  ["\u0016\u0003\u0001", "1"], // a TLS hello on a plaintext port: HTTP/1.1 answers 400
])("%j is %s", (bytes, version) => {
  expect(httpVersionOf(Buffer.from(bytes, "latin1"))).toBe(version);
});
