import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { createLogger } from "../../base/logger.ts";
import type { CheckedTls, TlsFault, TlsFiles } from "../../pki/tls-files.ts";
import { tlsFault } from "../../pki/tls-files.ts";
import { TlsFolder, type TlsFolderOptions } from "./tls-folder.ts";
import { TlsMetrics } from "./tls-metrics.ts";

const ca = new TestCa("town");
const first = ca.issue({ ips: ["127.0.0.1"] });
const second = ca.issue({ ips: ["127.0.0.1"] });

/** A `TlsFolder` over files in memory, and everything that it reports. */
function folder(options: Partial<TlsFolderOptions> = {}, before: TlsFiles | undefined = first) {
  const clock = new FakeClock(Date.now());
  const told = {
    loaded: [] as CheckedTls[],
    refused: [] as TlsFault[],
    usable: [] as boolean[],
    log: [] as string[],
    reads: 0,
  };
  let files: TlsFiles | undefined = before;
  let wake = () => {};
  const metrics = new TlsMetrics(new Registry());
  const deps = {
    clock,
    logger: createLogger("test", "info", { destination: { write: (line) => void told.log.push(line) } }),
    onLoaded: (tls: CheckedTls) => void told.loaded.push(tls),
    onRefused: (reason: TlsFault) => void told.refused.push(reason),
    onUsable: (usable: boolean) => void told.usable.push(usable),
    watch: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      return { changed: promise, [Symbol.dispose]: () => {} };
    },
    readTlsFiles: async () => {
      told.reads++;
      if (files === undefined) throw tlsFault("unreadable", "cannot read /x/tls.crt");
      return files;
    },
  };
  const subject = new TlsFolder(deps, { dir: "/x", side: "server", ...options });
  metrics.observe(() => subject.current);
  const stop = new AbortController();
  const running = subject.run(stop.signal);
  return {
    told,
    clock,
    subject,
    swap(next: TlsFiles) {
      files = next;
      wake();
    },
    /** Replaces the files and waits until they are read. `tell` false: as a volume without notifications. */
    async put(next: TlsFiles | undefined, tell = true) {
      files = next;
      if (tell) wake();
      await clock.advance(200);
      await settle();
    },
    async end() {
      stop.abort();
      await running;
      expect(clock.sleeping).toBe(0);
    },
  };
}

describe("a folder with TLS files", () => {
  it("keeps its revocation list if the new one has a lower number, and accepts a higher one", async () => {
    const revoked = ca.issue({ uris: ["spiffe://town/client/ann"] });
    const older = { ...first, crl: ca.revoke([], { number: 6 }) };
    const inUse = { ...first, crl: ca.revoke([revoked], { number: 7 }) };
    const newer = { ...first, crl: ca.revoke([revoked], { number: 8 }) };
    const { subject, told, put, end } = folder({}, inUse);
    await subject.first(new AbortController().signal);
    await put(older);
    expect([subject.current?.files, told.refused]).toEqual([inUse, ["crl"]]);
    expect(told.log.join()).toContain("number 6, which is older than number 7");
    await put(newer);
    expect(subject.current?.files).toEqual(newer);
    await end();
  });

  it("uses the first usable set at once", async () => {
    const { subject, told, end } = folder();
    const tls = await subject.first(new AbortController().signal);
    expect(tls.files).toEqual(first);
    expect(told.loaded).toEqual([tls]);
    await end();
  });

  it("makes callers of `first` wait until it has a usable set", async () => {
    const { subject, told, put, end } = folder({}, { ...first, key: "" });
    const waiting = subject.first(new AbortController().signal);
    await put({ ...first, cert: "" });
    expect(subject.current).toBeUndefined();
    await put(first);
    expect((await waiting).files).toEqual(first);
    expect(told.refused).toEqual(["unreadable", "unreadable"]);
    await end();
  });

  it("loads a new set once when the folder reports a change", async () => {
    const { subject, told, put, end } = folder();
    await put(second);
    expect(subject.current?.files).toEqual(second);
    await put(second);
    expect(told.loaded).toHaveLength(2);
    await end();
  });

  it("finds a change without a notification at the next check", async () => {
    const { subject, clock, put, end } = folder({ pollMs: 30_000 });
    await put(second, false);
    expect(subject.current?.files).toEqual(first);
    await clock.advance(30_000);
    expect(subject.current?.files).toEqual(second);
    await end();
  });

  it.each<[string, TlsFiles | undefined, TlsFault]>([
    ["is missing a file", undefined, "unreadable"],
    ["was emptied", { cert: "", key: "", ca: "" }, "unreadable"],
    ["has a truncated certificate", { ...second, cert: second.cert.slice(0, 99) }, "unreadable"],
    ["has a certificate and a key that do not match", { ...second, key: first.key }, "mismatch"],
    ["has expired", ca.issue({ ips: ["127.0.0.1"], days: -0.5 }), "expired"],
    ["is issued by another CA", { ...new TestCa("other").issue({ ips: ["127.0.0.1"] }), ca: ca.pem }, "untrusted"],
    ["is issued to a caller", ca.issue({ uris: ["spiffe://a/b"] }), "usage"],
  ])("keeps the previous set if the new one %s, and logs one warning", async (_, files, reason) => {
    const { subject, told, clock, put, end } = folder();
    await put(files);
    await clock.advance(120_000);
    expect(subject.current?.files).toEqual(first);
    expect(told.refused).toEqual([reason]);
    const warnings = told.log.filter((line) => line.includes('"level":40'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("the previous one stays in use");
    await put(second);
    expect(subject.current?.files).toEqual(second);
    await end();
  });

  it("loads a set that is not valid yet when it becomes valid", async () => {
    const early = ca.issue({ ips: ["127.0.0.1"], startDays: 0.001 });
    const { subject, told, clock, put, end } = folder();
    await put(early);
    expect(told.refused).toEqual(["not-yet-valid"]);
    await clock.advance(120_000);
    expect(subject.current?.files).toEqual(early);
    await end();
  });

  it("keeps the previous set if the program refuses the new one", async () => {
    let refuse = false;
    const check = () => {
      if (refuse) throw tlsFault("identity", "tls.crt belongs to another session");
    };
    const { subject, told, put, end } = folder({ check });
    await put(first);
    refuse = true;
    await put(second);
    expect([subject.current?.files, told.refused]).toEqual([first, ["identity"]]);
    await end();
  });

  it("does not load the set in use again when its files return", async () => {
    const { told, put, end } = folder();
    await put({ ...first, key: "" });
    await put(first);
    expect([told.loaded.length, told.refused]).toEqual([1, ["unreadable"]]);
    await end();
  });

  it("is read a bounded number of times, however often it changes", async () => {
    const { told, clock, swap, end } = folder();
    for (let i = 0; i < 1000; i++) {
      swap(i % 2 === 0 ? second : first);
      await clock.advance(10);
    }
    await clock.advance(1000);
    expect(told.reads).toBeLessThan(60);
    expect(told.reads).toBeGreaterThan(20);
    await end();
  });

  it("reports once when the set in use expires, and once when it is replaced", async () => {
    const short = ca.issue({ ips: ["127.0.0.1"], days: 100 / 86_400 });
    const { told, clock, put, end } = folder({}, short);
    await clock.advance(98_000);
    expect(told.usable).toEqual([]);
    await clock.advance(3000);
    expect(told.usable).toEqual([false]);
    await clock.advance(300_000);
    await put(ca.issue({ ips: ["127.0.0.1"], days: -0.5 }));
    expect(told.usable).toEqual([false]);
    expect(told.log.filter((line) => line.includes('"level":50'))).toHaveLength(1);
    await put(second);
    await clock.advance(300_000);
    expect(told.usable).toEqual([false, true]);
    expect(told.reads).toBeLessThan(40);
    await end();
  });
});
