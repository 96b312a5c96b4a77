import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/screens/tmux-sandbox.ts";
import { ANN, BOB, needsOtherUsers, type OtherUser, otherUser } from "../support/sidecar/other-user.ts";

/** A sidecar as a user starts it, with a program that echoes. */
async function sidecarOf(user: OtherUser, listen: string, ...flags: string[]) {
  const serving = ["--listen", listen, "--health-listen", "127.0.0.1:0", "--address", "toast", "--restart", "never"];
  const argv = user.program("gt-sidecar", "--agent", "generic", ...serving, ...flags, "--", "cat");
  const child = user.spawn(argv, { stdio: ["ignore", "ignore", "pipe"] });
  const gone = once(child, "close");
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const port = await eventually("it serves", () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${log}`);
    return /"listen":"[^"]*:(\d+)","pid":\d+,"msg":"serving"/.exec(log)?.[1];
  });
  return {
    port,
    log: () => log,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await gone;
    },
  };
}

/** A call without any program of ours, over a connection that the user's own shell opens. */
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
    "on %s serves its own user and root, no other user",
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

  it.for([String(BOB), "any"])("serves another user by --allow-local-user %s", async (user, context) => {
    needsOtherUsers(context);
    await using ann = await otherUser(ANN);
    await using bob = await otherUser(BOB);
    await using sidecar = await sidecarOf(ann, "127.0.0.1:0", "--allow-local-user", user);
    const shown = await bob.run(bob.program("gt", "peek", "toast", "--port", sidecar.port));
    expect(shown).toMatchObject({ code: 0, stderr: "" });
  });
});
