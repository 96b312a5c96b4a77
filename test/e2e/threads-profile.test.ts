import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { gt } from "../support/bridge/gt-transcript.ts";
import { TokenRoom } from "../support/threads/token-room.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let room: TokenRoom;
let home: string;
beforeAll(async () => {
  room = await TokenRoom.start();
  home = await mkdtemp("/tmp/gt-profile-");
  const key = room.keys.person.export({ type: "pkcs8", format: "pem" });
  await writeFile(join(home, "people.key"), key, { mode: 0o600 });
});
afterAll(async () => {
  await room?.[Symbol.asyncDispose]();
  if (home !== undefined) await rm(home, { recursive: true, force: true });
});

/** Runs gt on a machine without a threads server. */
const run = (...args: string[]) => gt(args, { HOME: home, XDG_CONFIG_HOME: join(home, "config"), USER: "ann" });

it("gt reaches the profile's server as the profile's person, with tokens of its key", async () => {
  expect(await run("threads", "ls")).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("gt config set threads"),
  });
  const kept = { threads: room.server.url, "jwt-issuer": "people", "jwt-key": join(home, "people.key") };
  for (const [key, value] of Object.entries(kept)) expect((await run("config", "set", key, value)).code).toBe(0);
  const incomplete = await run("threads", "ls");
  expect(incomplete).toMatchObject({ code: 4, stderr: expect.stringContaining("jwt-key, jwt-issuer and project") });
  await run("config", "set", "project", "w");

  const { stdout } = await run("threads", "new", "kept");
  const show = async (...more: string[]) =>
    JSON.parse((await run("threads", "show", stdout.trim(), "--json", ...more)).stdout);
  expect((await show()).thread).toMatchObject({ title: "kept", created_by: "ann" });
  await run("config", "set", "person", "boss");
  await run("threads", "post", stdout.trim(), "as the boss");
  const senders = (await show()).messages.map((one: { sender: { agent_id: string } }) => one.sender.agent_id);
  expect(senders).toContain("boss");

  await run("config", "set", "person", "else", "--profile", "other");
  expect(await run("threads", "ls", "--profile", "other")).toMatchObject({ code: 4 });
  expect(await run("threads", "ls", "--profile", "none")).toMatchObject({ code: 2 });
});

it.each([
  ["threads", "http://threads.example.com:9448", /in plaintext/],
  ["threads", "ftp://x", /takes a URL/],
  ["person", "a b", /person takes letters/],
])("gt config set %s %s is refused", async (key, value, why) => {
  expect(await run("config", "set", key, value)).toMatchObject({ code: 2, stderr: expect.stringMatching(why) });
});
