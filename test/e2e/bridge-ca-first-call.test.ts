import { mkdir, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { CaSandbox } from "../support/bridge/bridge-ca.ts";
import { freePort } from "../support/bridge/free-port.ts";

/** The indented lines, as one script or file. */
const indented = (text: string) => [...text.matchAll(/^ {2}(.*)$/gm)].map(([, line]) => line).join("\n");

it("a new user makes the first authorised call with the help of bridge-ca and bridge alone", async () => {
  await using sandbox = await CaSandbox.create();
  await sandbox.install("bridge", "gt");
  const port = await freePort();
  /** Replaces the names and addresses of the example with those of this machine. */
  const here = (text: string) =>
    text
      .replaceAll("bridge.example.com:9445", `localhost:${port}`)
      .replaceAll("bridge.example.com", "localhost")
      .replaceAll("192.168.1.10", "127.0.0.1");
  const bridgeHelp = await sandbox.ok("bridge --help");
  const yaml = indented(
    bridgeHelp.slice(bridgeHelp.indexOf("A configuration"), bridgeHelp.indexOf("Paths are relative")),
  )
    .replace("0.0.0.0:9445", `127.0.0.1:${port}"\n  health_listen: "127.0.0.1:0`)
    .replace(/ {4}- issuer: "ndara(.|\n)*?(?=providers)/, "")
    .replace(/ {2}claude:\n.*\n/, "");
  await mkdir(sandbox.path("ai-agent-bridge"));
  await mkdir(sandbox.path("prd-manager-control-plane"));
  await writeFile(sandbox.path("ai-agent-bridge/bridge.yaml"), yaml);
  const overview = await sandbox.ok("bridge-ca --help");
  const flows = indented(overview.slice(overview.indexOf("The steps for"), overview.indexOf("Exit codes")));
  const isUp = `until curl -sk https://localhost:${port} || [ $? -ne 7 ]; do sleep 0.1; done`;
  const script = here(flows).replace(
    "bridge --config bridge.yaml",
    `bridge check --config bridge.yaml\nbridge --config bridge.yaml 2>bridge.log & trap "kill $!; wait" EXIT\n${isUp}`,
  );
  const { stdout, stderr, code } = await sandbox.sh(script);
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain("bridge.yaml: ok");
  expect(stderr).toMatch(/no session at localhost:\d+; gt start starts one/);
  const log = await sandbox.ok("cat ai-agent-bridge/bridge.log");
  expect(log).toMatch(/"outcome":"allowed".*"call":"bridge.v1.BridgeService\/ListSessions".*"issuer":"prd-manager"/);
});
