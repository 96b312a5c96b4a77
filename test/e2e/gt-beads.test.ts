import { chmod, cp, mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type AgentPlace, demoAgent, inSidecar } from "../support/agents/agent-places.ts";
import { gt } from "../support/bridge/gt-transcript.ts";

let place: AgentPlace;
let beads: string;
let town: string;
let env: Record<string, string>;

beforeAll(async () => {
  place = await inSidecar({ argv: demoAgent, profile: "demo" });
  const bin = join(place.dir, "bin");
  town = join(place.dir, "gt");
  await mkdir(bin);
  await cp(fileURLToPath(new URL("../fakes/bd", import.meta.url)), join(bin, "bd"));
  await chmod(join(bin, "bd"), 0o755);
  await mkdir(join(town, "mayor"), { recursive: true });
  await writeFile(join(town, "mayor", "town.json"), "{}");
  await writeFile(join(town, "mayor", "rigs.json"), JSON.stringify({ rigs: { gastown: { beads: { prefix: "gt" } } } }));
  beads = join(place.dir, "beads");
  // Only its bead shows where the agent is: the folder with this machine's announcements is out of sight.
  const runtime = join(place.dir, "other-run");
  await mkdir(runtime, { mode: 0o700 });
  env = { ...place.env, PATH: `${bin}:${place.env["PATH"]}`, FAKE_BD: beads, XDG_RUNTIME_DIR: runtime };
});
afterAll(() => place?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await rm(beads, { recursive: true, force: true });
  await mkdir(beads);
});

const port = () => place.flags[1] ?? "";

async function bead(id: string, content: Record<string, unknown>): Promise<void> {
  await writeFile(join(beads, `${id}.json`), JSON.stringify([{ id, ...content }]));
}

it("reaches the agent at the address in its bead's metadata", async () => {
  await bead("gt-gastown-polecat-toast", {
    metadata: { backend: "k8s", sidecar_host: "127.0.0.1", sidecar_port: port() },
  });
  const shown = await gt(["peek", "gastown/toast", "1"], env, { cwd: town });
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout.split("\n")).toHaveLength(2);
});

it("reaches the agent at the address in its bead's notes or description", async () => {
  const notes = `backend: k8s\nsidecar_host: 127.0.0.1\nsidecar_port: ${port()}\n`;
  await bead("gt-gastown-crew-toast", { notes });
  await bead("gt-gastown-polecat-toast", { description: notes });
  expect(await gt(["peek", "gastown/crew/toast", "1"], env, { cwd: town })).toMatchObject({ code: 0 });
  expect(await gt(["peek", "gastown/polecats/toast", "1"], env, { cwd: town })).toMatchObject({ code: 0 });
});

it.each(["peek", "nudge", "keys", "respond", "stop", "status"])(
  "%s exits with 4 at another agent's sidecar, and names both agents",
  async (command) => {
    const metadata = { backend: "k8s", sidecar_host: "127.0.0.1", sidecar_port: port() };
    await bead("gt-gastown-polecat-gone", { metadata });
    const words = command === "nudge" ? ["hello"] : command === "keys" ? ["Enter"] : [];
    const before = await place.backend.peek(
      { lines: 50, all: false, ansi: false, joinWrapped: false },
      AbortSignal.timeout(60_000),
    );
    const shown = await gt([command, "gastown/polecats/gone", ...words], env, { cwd: town });
    expect(shown).toMatchObject({ code: 4, stdout: "" });
    expect(shown.stderr).toMatch(
      /^gt: error: toast \(session \S+\) answers at 127\.0\.0\.1:\d+, but gastown\/polecats\/gone was requested\ngt: hint: nothing was sent/,
    );
    const after = await place.backend.peek(
      { lines: 50, all: false, ansi: false, joinWrapped: false },
      AbortSignal.timeout(60_000),
    );
    expect(after.output).toBe(before.output);
  },
);

it("refuses a session other than the bead's, although the name is right", async () => {
  const { sessionId } = await place.backend.status(AbortSignal.timeout(60_000));
  const metadata = { backend: "k8s", sidecar_host: "127.0.0.1", sidecar_port: port() };
  await bead("gt-gastown-polecat-toast", { metadata: { ...metadata, sidecar_session: "an-earlier-one" } });
  const shown = await gt(["nudge", "gastown/polecats/toast", "hello"], env, { cwd: town });
  expect(shown).toMatchObject({ code: 4, stdout: "" });
  expect(shown.stderr).toContain("gastown/polecats/toast (session an-earlier-one) was requested");
  await bead("gt-gastown-polecat-toast", { metadata: { ...metadata, sidecar_session: sessionId } });
  expect(await gt(["peek", "gastown/polecats/toast", "1"], env, { cwd: town })).toMatchObject({ code: 0, stderr: "" });
});

it("notes which agent answers at --port if it is another one, and refuses it for a full address", async () => {
  const noted = await gt(["peek", "someone", "1", "--port", port()], env);
  expect(noted.code).toBe(0);
  expect(noted.stderr).toMatch(
    /^gt: note: toast \(session \S+\) answers at 127\.0\.0\.1:\d+, but someone was requested\n$/,
  );
});

it("calls a bead's network address in plaintext only with --insecure-plaintext", async () => {
  const metadata = { backend: "k8s", sidecar_host: "198.51.100.7", sidecar_port: "9" };
  await bead("gt-gastown-polecat-toast", { metadata });
  expect(await gt(["nudge", "gastown/polecats/toast", "hello"], env, { cwd: town })).toEqual({
    code: 4,
    stdout: "",
    stderr:
      "gt: error: will not use plaintext to reach 198.51.100.7:9, the address in the agent's bead\ngt: hint: give --tls-dir, or --insecure-plaintext if the network itself keeps strangers out\n",
  });
  await bead("gt-gastown-polecat-toast", { metadata: { ...metadata, sidecar_host: "no-such-host.invalid" } });
  const open = await gt(["peek", "gastown/polecats/toast", "--insecure-plaintext"], env, { cwd: town });
  expect(open.stderr).toMatch(/^gt: error: no-such-host\.invalid:9: cannot be reached/);
});

it.each([
  [{ backend: "k8s" }, "backend=k8s without sidecar_host"],
  [{ backend: "k8s", sidecar_host: "h", sidecar_port: "x" }, 'sidecar_port is not a port: "x"'],
  [{ backend: "ssh" }, 'unknown backend "ssh"'],
])("never falls back to a local agent for a bead with %j", async (metadata, reason) => {
  await bead("gt-gastown-polecat-toast", { metadata });
  expect(await gt(["nudge", "gastown/toast", "hello"], env, { cwd: town })).toEqual({
    code: 4,
    stdout: "",
    stderr: `gt: error: bead gt-gastown-polecat-toast does not say where its agent is: ${reason}\ngt: hint: correct its metadata (backend, sidecar_host, sidecar_port), or give --host and --port\n`,
  });
});

it("reports that bd failed and looks nowhere else", async () => {
  await writeFile(join(beads, "fail"), "database is locked\n");
  expect(await gt(["peek", "gastown/toast"], env, { cwd: town })).toEqual({
    code: 4,
    stdout: "",
    stderr:
      "gt: error: bd show gt-gastown-crew-toast: exit 3: database is locked\ngt: hint: repair bd, or give the agent's place: --host and --port, or --socket for a local agent\n",
  });
});

it("does not wait for a bd that hangs", async () => {
  await writeFile(join(beads, "hang"), "");
  const shown = await gt(["peek", "gastown/toast"], env, { cwd: town });
  expect(shown.stderr).toContain("took longer than 5000 ms");
  expect(shown.code).toBe(4);
});

it("looks for a local agent when there is no such bead", async () => {
  expect(await gt(["peek", "gastown/toast"], env, { cwd: town })).toMatchObject({ code: 3 });
});

it("sends nothing to a muted agent without --force", async () => {
  const metadata = { backend: "k8s", sidecar_host: "127.0.0.1", sidecar_port: port() };
  await bead("gt-gastown-polecat-toast", { metadata, description: "notification_level: muted" });
  expect(await gt(["nudge", "gastown/polecats/toast", "hello"], env, { cwd: town })).toEqual({
    code: 6,
    stdout: "",
    stderr:
      "gt: error: not delivered to gastown/polecats/toast: it does not want to be disturbed\ngt: hint: --force delivers it anyway\n",
  });
  const forced = await gt(["nudge", "gastown/polecats/toast", "hello", "--force"], env, { cwd: town });
  expect(forced).toMatchObject({ code: 0, stderr: "" });
});

it("exits with 7 when the connection breaks after the message was sent", async () => {
  const sockets = new Set<import("node:net").Socket>();
  // Accepts the connection, reads the message, and destroys the connection.
  const server = createServer((socket) => {
    sockets.add(socket);
    let sent = "";
    socket.on("data", (bytes) => {
      sent += bytes.toString("latin1");
      if (!sent.includes("hello")) return;
      server.close();
      socket.resetAndDestroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: gone } = server.address() as { port: number };
  const shown = await gt(
    ["nudge", "toast", "hello", "--port", String(gone), "--request-id", "r-1", "--timeout", "1s"],
    env,
  );
  for (const socket of sockets) socket.destroy();
  expect(shown).toMatchObject({ code: 7, stdout: "" });
  expect(shown.stderr).toMatch(
    /^gt: error: the connection broke after the message was sent, and its outcome is unknown/,
  );
  expect(shown.stderr).toContain("gt: hint: repeat the same message with --request-id r-1: it is never typed twice\n");
});
