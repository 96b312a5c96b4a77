import { createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import type { TlsFiles } from "../../pki/tls-files.ts";
import { HealthState, healthRoutes } from "../../rpc/server/health.ts";
import { currentTls } from "./current-tls.ts";

const files = (cert: string): TlsFiles => ({ cert, key: "key", ca: "ca" });

/** A client with the files of `there`, and the files that it took into use. */
function caller() {
  const used: TlsFiles[] = [];
  const state = { there: files("one") as TlsFiles | Error, torn: "" };
  const interceptor = currentTls(
    {
      read: async () => {
        if (state.there instanceof Error) throw state.there;
        return state.there;
      },
      use: (next) => {
        if (next.cert === state.torn) throw new Error("key values mismatch");
        used.push(next);
      },
    },
    files("one"),
  );
  const transport = createRouterTransport(healthRoutes(new HealthState()), {
    transport: { interceptors: [interceptor] },
  });
  const client = createClient(Health, transport);
  return { used, state, call: () => client.check({}) };
}

it("loads replaced files before the next call, once", async () => {
  const { used, state, call } = caller();
  await call();
  expect(used).toEqual([]);
  state.there = files("two");
  await call();
  await call();
  expect(used).toEqual([files("two")]);
  state.there = { ...files("two"), crl: "a list" };
  await call();
  expect(used).toEqual([files("two"), state.there]);
});

it("keeps the loaded files while new ones are missing or torn, and loads them once they match", async () => {
  const { used, state, call } = caller();
  state.there = new Error("no such file");
  await call();
  state.there = files("torn");
  state.torn = "torn";
  await call();
  await call();
  expect(used).toEqual([]);
  state.torn = "";
  await call();
  expect(used).toEqual([files("torn")]);
});
