import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { certificatesOf, pemBlocks } from "./pem.ts";
import { revocationListsOf } from "./revocation-list.ts";

const [one, other] = [new TestCa("one"), new TestCa("other")];
const lists = one.revoke([]) + other.revoke([]);
const invalid = (message: string) =>
  expect.objectContaining({ kind: "invalid", message: expect.stringContaining(message) });

it("reads blocks with text around them, with indents, and with Windows line ends", () => {
  const text = `\uFEFFSubject: one\n${one.pem}\n--- the other one ---\n  ${other.pem.replaceAll("\n", "\r\n  ")}`;
  expect(certificatesOf(text).map(({ subject }) => subject)).toEqual(["CN=one", "CN=other"]);
});

it("skips other complete blocks", () => {
  expect(pemBlocks(one.itself.key + lists, "X509 CRL")).toHaveLength(2);
});

it("cut off anywhere contains the blocks before the cut, or is refused: nothing is lost silently", () => {
  const whole = lists.indexOf("-----END X509 CRL-----") + "-----END X509 CRL-----".length;
  for (let length = whole; length < lists.length - 1; length++) {
    const cut = lists.slice(0, length);
    if (cut.trim().length === whole) expect(pemBlocks(cut, "X509 CRL")).toHaveLength(1);
    else expect(() => pemBlocks(cut, "X509 CRL"), JSON.stringify(cut.slice(whole))).toThrow(invalid("line"));
  }
});

describe("refuses, after a complete block,", () => {
  const [good, bad] = [one.revoke([]), other.revoke([])];
  it.each([
    ["one without its first line", bad.slice(bad.indexOf("\n") + 1), "has no beginning"],
    ["one without its last line", bad.slice(0, bad.lastIndexOf("-----END")), "has no end"],
    ["one within another", bad.replace("\n", `\n${bad}`), "has no end"],
    ["one of an unknown label", bad.replaceAll("X509 CRL", "CRL"), '"CRL", which is not supported'],
    ["one whose ends differ", bad.replace("END X509 CRL", "END CERTIFICATE"), "has no beginning"],
    ["one that is not base64", bad.replace("\n", "\n*"), "is damaged"],
    ["one with a line that is too short", bad.replace(/^(.*\n.{20})./, "$1"), "is damaged"],
    ["one with a damaged boundary", bad.replace("-----BEGIN", "----BEGIN"), "cut off or damaged"],
    ["DER", Buffer.from(pemBlocks(bad, "X509 CRL")[0] ?? []).toString("utf8"), "binary data (DER)"],
  ])("%s", (_, behind, message) => {
    expect(() => pemBlocks(good + behind, "X509 CRL")).toThrow(invalid(message));
  });
});

it("refuses the description of a list without the list", () => {
  const text = "Certificate Revocation List (CRL):\n        Version 2 (0x1)\n";
  expect(revocationListsOf(`${text}${one.revoke([])}`)).toHaveLength(1);
  expect(() => revocationListsOf(`${one.revoke([])}${text}`)).toThrow(invalid("describes a revocation list"));
});

it("refuses a certificate with trailing data in its block", () => {
  const bytes = Buffer.concat([new X509Certificate(one.pem).raw, Buffer.from([0x30, 0x00])]);
  const text = `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----\n`;
  expect(() => certificatesOf(text)).toThrow(invalid("more data behind it"));
});
