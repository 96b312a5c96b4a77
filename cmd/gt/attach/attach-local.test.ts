import { describe, expect, it } from "vitest";
import { tmuxAttachCommand } from "./attach-local.ts";

const env = { PATH: "/bin", TMUX: "/tmp/s,1,0", TMUX_PANE: "%1" };
const asked = { socketPath: "/tmp/s", session: "gt-toast", readOnly: false, inside: undefined, env };

describe("tmuxAttachCommand", () => {
  it("attaches to exactly that session of that server, and never starts one", () => {
    const { args, env: given } = tmuxAttachCommand(asked);
    expect(args).toEqual(["-N", "-u", "-S", "/tmp/s", "attach-session", "-t", "=gt-toast"]);
    expect(given).toEqual({ PATH: "/bin" });
  });

  it("attaches read-only without a size of its own", () => {
    expect(tmuxAttachCommand({ ...asked, readOnly: true }).args).toContain("-r");
  });

  it("switches the client inside the same server", () => {
    const { args, env: given } = tmuxAttachCommand({ ...asked, inside: "/tmp/s,1,0" });
    expect(args).toEqual(["-u", "-S", "/tmp/s", "switch-client", "-t", "=gt-toast"]);
    expect(given).toEqual(env);
  });

  it.each([
    { inside: "/tmp/other,1,0", readOnly: false },
    { inside: "/tmp/s,1,0", readOnly: true },
  ])("attaches inside another server, or read-only: %j", (how) => {
    expect(tmuxAttachCommand({ ...asked, ...how }).args).toContain("attach-session");
  });
});
