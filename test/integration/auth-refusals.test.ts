import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { TestCa, UNKNOWN_CRITICAL } from "../support/bridge/certificates.ts";
import {
  bearer,
  below,
  bridge,
  bridgeToken,
  type CallAttempt,
  call,
  certificate,
  endedConsumer,
  expectAudited,
  LEAKS,
  ndara,
  ndaraToken,
  now,
  prd,
  revoked,
  revokedBetween,
  revokedConsumer,
  server,
  stranger,
  URI,
  withClaims,
} from "../support/bridge/refused-calls.ts";

describe("a call is answered if it has a token", () => {
  it.each<[string, () => CallAttempt]>([
    ["sent with a certificate of its issuer's CA", () => bearer(bridgeToken())],
    [
      "sent with a certificate that the server's own CA issued to a client with the issuer's name",
      () => ({ ...bearer(bridgeToken()), tls: certificate.named }),
    ],
    [
      "bound to the connection's certificate",
      () => bearer(bridgeToken({ certificate: new X509Certificate(certificate.prd.cert) })),
    ],
    ["for several audiences, one of which is this", () => bearer(withClaims({ aud: ["other", "bridge"] }))],
    ["whose issuer's clock is 20 s ahead", () => bearer(withClaims({ iat: now() + 20, exp: now() + 120 }))],
    ["with unknown claims", () => bearer(withClaims({ jti: "1", name: { first: "A" } }))],
    ["with the scope read for a call that needs it", () => bearer(bridgeToken({ scope: "read" }))],
    ["of another issuer", () => ({ ...bearer(ndaraToken()), tls: certificate.ndara })],
  ])("%s", async (_, ask) => {
    const before = server.audited.length;
    expect(await call(ask())).toMatchObject({ status: 200, text: expect.stringContaining("line") });
    expect(server.audited.slice(before).map((line) => JSON.parse(line) as object)).toMatchObject([
      {
        event: "call",
        outcome: "allowed",
        call: "gastown.v1.SidecarService/Peek",
        correlation_id: expect.any(String),
        subject: "app",
      },
    ]);
  });
});

/** A refusal in the handshake gives no answer, only an audited reason: Node's name of OpenSSL's verdict. */
const noAnswer = (reason: string): CertificateRefusal => ({ reason });
const answered = (code: string, kind: string, reason: string): CertificateRefusal => ({ code, kind, reason });

interface CertificateRefusal {
  /** The code of the answer; undefined: no answer comes. */
  readonly code?: string;
  /** The kind in the audit log. */
  readonly kind?: string;
  readonly reason: string;
}

describe("a certificate is refused", () => {
  const rsa1024 = () => prd.issue({ uris: [URI.prd], keys: generateKeyPairSync("rsa", { modulusLength: 1024 }) });
  const revokedAnswer = answered("unauthenticated", "unauthenticated", "the caller's certificate is revoked");
  const unnamed = noAnswer(
    "the certificate does not verify, for a reason without a code (a name that its CA may not issue, a weak key or digest, an unknown critical extension)",
  );
  it.each<[string, () => Omit<TlsMaterial, "ca">, CertificateRefusal]>([
    ["of another CA", () => stranger.issue({ uris: [URI.prd] }), noAnswer("UNABLE_TO_VERIFY_LEAF_SIGNATURE")],
    [
      "of another CA with the same name",
      () => new TestCa("prd-manager").issue({ uris: [URI.prd] }),
      noAnswer("CERT_SIGNATURE_FAILURE"),
    ],
    ["that is self-signed", () => stranger.itself, noAnswer("DEPTH_ZERO_SELF_SIGNED_CERT")],
    ["that has expired", () => prd.issue({ uris: [URI.prd], days: -0.5 }), noAnswer("CERT_HAS_EXPIRED")],
    ["that is not valid yet", () => prd.issue({ uris: [URI.prd], startDays: 0.5 }), noAnswer("CERT_NOT_YET_VALID")],
    ["that is revoked", () => revoked, revokedAnswer],
    ["below a revoked cross-signature", () => revokedConsumer.issue({ uris: [URI.prd] }), revokedAnswer],
    ["below an expired cross-signature", () => endedConsumer.issue({ uris: [URI.prd] }), noAnswer("CERT_HAS_EXPIRED")],
    ["below a revoked intermediate", () => revokedBetween.issue({ uris: [URI.prd] }), revokedAnswer],
    ["for servers", () => prd.issue({ uris: [URI.prd], usages: ["server"] }), noAnswer("INVALID_PURPOSE")],
    [
      "without an extended key usage",
      () => prd.issue({ uris: [URI.prd], usages: [] }),
      answered("unauthenticated", "unauthenticated", "the caller's certificate is not for clients (no clientAuth)"),
    ],
    [
      "with a name that its CA may not issue",
      () => ndara.issue({ uris: ["spiffe://bridge/client/prd-manager"] }),
      unnamed,
    ],
    [
      "of a CA below one that may have no CA below it",
      () => below.issue({ uris: [URI.prd] }),
      noAnswer("PATH_LENGTH_EXCEEDED"),
    ],
    [
      "of a sidecar",
      () => bridge.issue({ ips: ["127.0.0.1"], uris: ["spiffe://bridge/ns/a/session/s"] }),
      noAnswer("INVALID_PURPOSE"),
    ],
    [
      "of a sidecar that may also be used by clients",
      () => bridge.issue({ uris: ["spiffe://bridge/ns/a/session/s"], usages: ["client", "server"] }),
      answered("permission_denied", "denied", "the caller's certificate is a sidecar's: sidecars may not call"),
    ],
    ["with a weak key", rsa1024, unnamed],
    [
      "with a weak curve, for which TLS 1.3 has no signature",
      () => prd.issue({ uris: [URI.prd], keys: generateKeyPairSync("ec", { namedCurve: "secp224r1" }) }),
      noAnswer("ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE"),
    ],
    ["signed with SHA-1", () => prd.issue({ uris: [URI.prd], sha1: true }), unnamed],
    [
      "with an unknown critical extension",
      () => prd.issue({ uris: [URI.prd], extensions: [UNKNOWN_CRITICAL] }),
      unnamed,
    ],
    ["that is missing", () => ({ cert: "", key: "" }), noAnswer("ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE")],
  ])("%s", async (_, material, { code, kind, reason }) => {
    const before = { handled: server.handled(), audited: server.audited.length };
    const answer = await call({ ...bearer(bridgeToken()), tls: material(), ciphers: "DEFAULT:@SECLEVEL=0" });
    expect(answer).toMatchObject(code === undefined ? { status: 0 } : { code });
    if (code !== undefined) expect(answer.text).toContain(reason);
    expect(answer.text).not.toMatch(LEAKS);
    expect(server.handled()).toBe(before.handled);
    await expectAudited(before.audited, {});
    const lines = server.audited.slice(before.audited).map((line) => JSON.parse(line) as object);
    expect(lines).toEqual([
      expect.objectContaining({
        event: "connection",
        reason,
        address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      }),
      ...(code === undefined ? [] : [expect.objectContaining({ event: "call", code: kind, reason })]),
    ]);
  });
});
