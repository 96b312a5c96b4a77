import { X509Certificate } from "node:crypto";
import { systemClock as clock } from "../../internal/base/clock.ts";
import { revocationListsOf } from "../../internal/pki/revocation-list.ts";
import { Trust } from "../../internal/pki/trust.ts";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import type { BenchContext } from "../context.ts";
import { type Measured, measured } from "../report/row.ts";
import { median } from "../stats.ts";
import { cpuUs } from "./cpu-us.ts";

const REVOKED = 10_000;
/** The connections of each turn, with the list and without. */
const CONNECTIONS = 500;

/**
 * Measures the cost that a revocation list adds to checking a new connection's certificate. The chain's signatures are
 * checked before the clock runs: they take fifty times as long, with a list and without. Alternates both; the result is
 * the median of their differences.
 */
export async function measureRevocation({ quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  say("revocation");
  const ca = new TestCa("shop");
  const revoked = Array.from({ length: REVOKED }, (_, i) => {
    const serial = Buffer.alloc(9, 1);
    serial.writeUInt32BE(i, 5);
    return serial;
  });
  const cas = [new X509Certificate(ca.pem)];
  const lists = revocationListsOf(ca.revokeSerials(revoked));
  const pems = Array.from({ length: CONNECTIONS }, () => ca.issue({}).cert);
  const cost = (trust: Trust) => {
    const certificates = pems.map((pem) => new X509Certificate(pem));
    trust.standing(new X509Certificate(pems[0] ?? ""), clock.now()); // the list's issuer is looked up only once
    for (const certificate of certificates) trust.notAfter(certificate);
    return cpuUs(CONNECTIONS, (i) => trust.standing(certificates[i] as X509Certificate, clock.now()));
  };
  const differences = Array.from({ length: quick ? 10 : 60 }, (_, round) => {
    signal.throwIfAborted();
    const isListFirst = round % 2 === 0;
    const [first, second] = [
      cost(new Trust(cas, isListFirst ? lists : [])),
      cost(new Trust(cas, isListFirst ? [] : lists)),
    ];
    return isListFirst ? first - second : second - first;
  });
  const name = "revocation list of 10,000: added to a connection";
  return [measured(name, median(differences), "µs CPU", { atMost: 5 })];
}
