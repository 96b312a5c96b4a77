import { expect, it } from "vitest";
import { DomainError } from "../../base/errors.ts";
import { tlsMismatch } from "./tls-mismatch.ts";

it.each([
  ["ERR_TLS_CERT_ALTNAME_INVALID", "have it issued with --san 10.0.0.7"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "give its CA with --ca"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "give its CA with --ca"],
  ["CERT_HAS_EXPIRED", undefined],
])("explains what to do about a sidecar whose certificate is refused with %s", async (code, hint) => {
  const cause = Object.assign(new Error("why"), { code });
  const err = new DomainError("unauthenticated", "10.0.0.7:9090: not trusted: why", { cause });
  const place = { type: "sidecar", agent: "a", host: "10.0.0.7", port: 9090, source: "flags", muted: false } as const;
  const found = await tlsMismatch(err, place, true);
  if (hint === undefined) expect(found).toBeUndefined();
  else expect(found).toMatchObject({ kind: "unauthenticated", message: err.message });
  if (hint !== undefined) expect(found?.fields["hint"]).toContain(hint);
});
