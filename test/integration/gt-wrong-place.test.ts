import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startHostileServer } from "../fakes/hostile-server.ts";
import { privatePlace } from "../support/agents/agent-places.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { writeTls } from "../support/bridge/secret.ts";

let place: Awaited<ReturnType<typeof privatePlace>>;
beforeAll(async () => {
  place = await privatePlace();
});
afterAll(() => rm(place.dir, { recursive: true }));

it("gt with a certificate reports a port that does not serve TLS", async () => {
  const town = new TestCa("town");
  const tls = join(place.dir, "tls");
  await writeTls(tls, { ...town.issue({ uris: ["spiffe://town.example/client/ann"] }), ca: town.pem });
  await using server = await startHostileServer();
  const shown = await gt(["peek", "a", "--port", String(server.port), "--tls-dir", tls], place.env);
  expect(shown).toEqual({
    code: 4,
    stdout: "",
    stderr: `gt: error: 127.0.0.1:${server.port} does not serve TLS\ngt: hint: is it the health port, or a sidecar without --tls-dir? then omit --tls-dir and GT_TLS_DIR\n`,
  });
});

it("gt nudge --if-fresh sends nothing from an old tmux session, and says so", async () => {
  const bin = join(place.dir, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "tmux"), "#!/bin/sh\necho 1000\n");
  await chmod(join(bin, "tmux"), 0o755);
  const socket = join(place.dir, "tmux.sock");
  const server = createServer().listen(socket);
  const env = { ...place.env, PATH: `${bin}:${place.env["PATH"]}`, TMUX: `${socket},1,0`, TMUX_PANE: "%0" };
  try {
    expect(await gt(["nudge", "toast", "hello", "--if-fresh"], env)).toEqual({
      code: 0,
      stdout: "",
      stderr: "gt: note: nothing was sent: the tmux session you call from is older than 60 s (--if-fresh)\n",
    });
  } finally {
    server.close();
  }
});
