import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseFlags } from "../../cli/flags.ts";
import { gtLine } from "./gt-line.ts";
import { readPlace } from "./place-config.ts";
import { PLACE_FLAGS } from "./place-flags.ts";
import { writeProfiles } from "./profile-file.ts";

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "gt-line-"));
});
afterAll(() => rmSync(home, { recursive: true }));

const place = (line: string, env: Record<string, string> = {}) =>
  readPlace(parseFlags(PLACE_FLAGS, line.split(" ").filter(Boolean), env).values, env);

describe("a suggested command line", () => {
  it.each([
    "--host 10.0.0.7 --port 9090 --tls-dir /certs",
    "--host unix:/run/a.sock",
    "--server b:1 --jwt-key /k --jwt-issuer shop --project p",
    "--insecure-plaintext --context prod --namespace agents",
    "--socket work --agent-profile demo",
  ])("leads to the same agent with the given flags: %s", (flags) => {
    expect(gtLine(["status", "s1"], place(flags, { GT_TMUX_SOCKET: "unused", GT_KUBE_CONTEXT: "unused" }))).toBe(
      `gt status s1 ${flags}`,
    );
  });

  it("does not repeat settings of the environment or a profile", () => {
    const profile = { server: "b:1", "tls-dir": "/tls", "jwt-key": "/k", "jwt-issuer": "shop", project: "p" };
    const env = { XDG_CONFIG_HOME: home };
    writeProfiles(env, { current: "work", profiles: { work: profile, other: { server: "c" } } });
    expect(gtLine(["peek", "s1"], place("", env))).toBe("gt peek s1");
    expect(gtLine(["peek", "s1"], place("--profile other", env))).toBe("gt peek s1 --profile other");
    expect(gtLine(["peek", "s1"], place("--project q", env))).toBe("gt peek s1 --project q");
    const known = { GT_SERVER: "b", GT_TLS_DIR: "/tls", GT_PROFILE: "work", ...env };
    expect(gtLine(["peek", "s1"], place("", known))).toBe("gt peek s1");
    expect(gtLine(["peek"], place("", { GT_SIDECAR_PORT: "9090" }))).toBe("gt peek");
  });

  it("quotes text for the shell, shows hidden characters, and omits a missing name", () => {
    expect(gtLine(["respond", "a b", "1"], place("--port 1"))).toBe("gt respond 'a b' 1 --port 1");
    expect(gtLine(["respond", "toast", "1\x1b]0;gone\x07\x1b[2J"], place(""))).toBe("gt respond toast 1");
    expect(gtLine(["respond", "", "1"], place("--port 1"))).toBe("gt respond 1 --port 1");
  });
});
