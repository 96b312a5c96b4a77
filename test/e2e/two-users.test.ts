import { once } from "node:events";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { requireUsers, TestUsers } from "../support/bridge/unix-users.ts";
import { eventually } from "../support/eventually.ts";
import { ANN, BOB, needsOtherUsers, type OtherUser, otherUser } from "../support/sidecar/other-user.ts";

/** A sidecar as a user starts it, with a program that echoes. */
async function sidecarOf(user: OtherUser, listen: string, flags: readonly string[] = [], env = {}) {
  const serving = ["--listen", listen, "--health-listen", "127.0.0.1:0", "--address", "toast", "--restart", "never"];
  const argv = user.program("gt-sidecar", "--agent", "generic", ...serving, ...flags, "--", "cat");
  const child = user.spawn(argv, { stdio: ["ignore", "ignore", "pipe"], env: { ...user.env, ...env } });
  const gone = once(child, "close");
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const port = await eventually(
    "it serves",
    () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${log}`);
      return /"listen":"[^"]*:(\d+)","pid":\d+,"msg":"serving"/.exec(log)?.[1];
    },
    60_000,
  );
  return {
    port,
    log: () => log,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await gone;
    },
  };
}

/** A call without our programs, over a connection that the user's own shell opens. */
async function peekByHand(user: OtherUser, port: string, host = "127.0.0.1"): Promise<string> {
  const body = "{}";
  const request = [
    "POST /gastown.v1.SidecarService/Peek HTTP/1.1",
    "Host: localhost",
    "Content-Type: application/json",
    "Connection: close",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\\r\\n");
  const script = `exec 3<>/dev/tcp/${host}/${port}; printf '${request}' >&3; cat <&3`;
  const { stdout } = await user.run(["bash", "-c", script]);
  return stdout;
}

describe.concurrent("a sidecar on loopback without TLS", () => {
  it.for(["127.0.0.1:0", "[::1]:0", "localhost:0"])(
    "on %s serves only its own user and root",
    async (listen, context) => {
      needsOtherUsers(context);
      await using ann = await otherUser(ANN);
      await using bob = await otherUser(BOB);
      await using sidecar = await sidecarOf(ann, listen);
      const host = listen.includes("::1") ? "::1" : "127.0.0.1";
      const at = ["--host", host, "--port", sidecar.port];
      const own = await ann.run(ann.program("gt", "peek", "toast", ...at));
      expect(own).toMatchObject({ code: 0, stderr: "" });
      await using root = await otherUser(0);
      expect(await root.run(root.program("gt", "peek", "toast", ...at))).toMatchObject({ code: 0, stderr: "" });
      for (const command of [
        ["peek", "toast"],
        ["nudge", "toast", "hello"],
        ["keys", "toast", "x"],
      ]) {
        const refused = await bob.run(bob.program("gt", ...command, ...at));
        expect(refused).toMatchObject({
          code: 4,
          stdout: "",
          stderr: expect.stringContaining(`user ${BOB} may not call`),
        });
      }
      expect(await peekByHand(bob, sidecar.port, host)).toMatch(/^HTTP\/1\.1 403 .*"permission_denied"/s);
      expect(await peekByHand(ann, sidecar.port, host)).toMatch(/^HTTP\/1\.1 200 /);
      if (host === "127.0.0.1") {
        expect(await peekByHand(bob, sidecar.port, "::ffff:127.0.0.1")).toMatch(/^HTTP\/1\.1 403 /);
        expect(await peekByHand(ann, sidecar.port, "::ffff:127.0.0.1")).toMatch(/^HTTP\/1\.1 200 /);
      }
      expect(sidecar.log()).toContain(`"uid":${BOB}`);
    },
  );

  it.for([String(BOB), "any"])("serves another user with --allow-local-user %s", async (user, context) => {
    needsOtherUsers(context);
    await using ann = await otherUser(ANN);
    await using bob = await otherUser(BOB);
    await using sidecar = await sidecarOf(ann, "127.0.0.1:0", ["--allow-local-user", user]);
    const shown = await bob.run(bob.program("gt", "peek", "toast", "--port", sidecar.port));
    expect(shown).toMatchObject({ code: 0, stderr: "" });
  });
});

describe.concurrent("a user of a shared machine", () => {
  it("finds its sidecars by name although another user has made the folder for them", async (context) => {
    requireUsers(context);
    await using users = await TestUsers.make(["ann", "bob"]);
    const [own, other] = users.all;
    if (own === undefined || other === undefined) throw new Error("no users");
    await using ann = await otherUser(own.uid, own.home);
    await using bob = await otherUser(other.uid, other.home);
    const folder = `/tmp/gt-sidecars-${own.uid}`;
    await rm(folder, { recursive: true, force: true }); // left by an earlier user with that uid
    expect(await bob.run(["mkdir", folder])).toMatchObject({ code: 0 });
    try {
      await using _sidecar = await sidecarOf(ann, "127.0.0.1:0");
      const listed = await ann.run(ann.program("gt", "agents"));
      expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("toast") });
      expect(listed.stderr).toBe(
        `gt: note: left out: cannot trust the folder ${folder}: it belongs to user ${other.uid}\n`,
      );
      expect(await ann.run(ann.program("gt", "peek", "toast"))).toMatchObject({ code: 0 });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("finds a sidecar that was started with XDG_RUNTIME_DIR, even where su or cron left it unset or wrong", async (context) => {
    needsOtherUsers(context);
    await using ann = await otherUser(ANN);
    await using bob = await otherUser(BOB);
    const own = { XDG_RUNTIME_DIR: join(ann.home, "run") };
    await using _sidecar = await sidecarOf(ann, "127.0.0.1:0", ["--address", "from-a-login"], own);
    for (const env of [own, {}, { XDG_RUNTIME_DIR: bob.home }, { XDG_RUNTIME_DIR: "/run/user/0" }])
      expect(await ann.run(ann.program("gt", "peek", "from-a-login"), env)).toMatchObject({ code: 0, stderr: "" });
    const inherited = { XDG_RUNTIME_DIR: bob.home };
    // Another user's socket counts as unreachable, whatever the call.
    const others = await ann.run(ann.program("gt", "nudge", "toast", "hi", "--host", `unix:${join(bob.home, "x")}`));
    expect(others).toMatchObject({ code: 4, stderr: expect.stringMatching(/^gt: error: unix:.*reached: .*EACCES/) });
    await using _other = await sidecarOf(ann, "127.0.0.1:0", ["--address", "after-su"], inherited);
    expect(await ann.run(ann.program("gt", "peek", "after-su"))).toMatchObject({ code: 0, stderr: "" });
  });

  it("learns what is wrong with a folder for temporary files, and a refused start leaves nothing there", async (context) => {
    needsOtherUsers(context);
    await using ann = await otherUser(ANN);
    const start = (...words: string[]) =>
      ann.program(
        "gt-sidecar",
        "--agent",
        "generic",
        "--listen",
        "127.0.0.1:0",
        "--health-listen",
        "127.0.0.1:0",
        ...words,
      );
    const missing = await ann.run(start("--", "cat"), { TMPDIR: "/not/there" });
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toMatch(
      /^gt-sidecar: error: cannot make a state folder in \/not\/there: .*\ngt-sidecar: hint: /,
    );
    const temporary = join(ann.home, "tmp");
    await ann.run(["mkdir", temporary]);
    const closed = join(ann.home, "closed");
    await ann.run(["mkdir", "-m", "0", closed]);
    const elsewhere = await ann.run(start("--workdir", closed, "--", "cat"), { TMPDIR: temporary });
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`cannot work in ${closed}: EACCES`) });
    for (const words of [
      ["--", "no-such-program-here"],
      ["--cols", "1", "--", "cat"],
      ["--listen", "203.0.113.1:1", "--insecure-plaintext", "--restart", "never", "--", "cat"],
    ]) {
      expect((await ann.run(start(...words), { TMPDIR: temporary })).code).not.toBe(0);
      expect(await readdir(temporary)).toEqual([]);
    }
  });
});
