import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { ServingProcesses } from "./serving-processes.ts";

it("never returns a process that could not be started ahead of time", async () => {
  const processes = new ServingProcesses({ program: "/nonexistent/program", args: [], env: {} });
  processes.prepare();
  await turn(); // its failure has been reported by now, to no one
  const next = processes.next();
  const [err] = await once(next, "error");
  expect(err).toMatchObject({ code: "ENOENT" });
  processes.dismiss();
});
