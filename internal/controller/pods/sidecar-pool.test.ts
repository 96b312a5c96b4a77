import { expect, it } from "vitest";
import { observePod } from "./observed-pod.ts";
import type { SessionRecord } from "./session-record.ts";
import type { NamespaceBinding } from "./settings.ts";
import { SidecarPool, type SidecarPoolDeps } from "./sidecar-pool.ts";

it.for(["plaintext", "secret"] as const)(
  "does not call the address of an ended pod, which another pod may have by now (%s)",
  (credentials) => {
    const connected: string[] = [];
    const connect = (({ baseUrl }: { readonly baseUrl: string }) => {
      connected.push(baseUrl);
      return { [Symbol.dispose]: () => {} };
    }) as unknown as NonNullable<SidecarPoolDeps["connect"]>;
    using pool = new SidecarPool({ tls: () => ({ cert: "", key: "", ca: "" }), connect }, { trustDomain: "town" });
    const binding: NamespaceBinding = { name: "agents", project: "shop", templates: new Map(), credentials };
    const record = (phase: string): SessionRecord => {
      const metadata = { name: "agent", namespace: "agents", uid: phase };
      const pod = observePod({ metadata, status: { phase, podIP: "10.0.0.5" } });
      return { key: { project: "shop", id: "one" }, pod, binding, isOwn: true };
    };
    pool.link(record("Running"));
    for (const phase of ["Succeeded", "Failed"]) {
      expect(() => pool.link(record(phase))).toThrow(
        expect.objectContaining({ kind: "unavailable", message: "the pod of session one has ended" }),
      );
    }
    expect(connected).toEqual([`${credentials === "plaintext" ? "http" : "https"}://10.0.0.5:9090`]);
  },
);
