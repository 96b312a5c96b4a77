import { describe, expect, it } from "vitest";
import { socketPaths, townSocketName } from "./socket.ts";

const uid = 1000;

describe("socketPaths", () => {
  it("returns only the named socket", () => {
    const query = { socket: "work", townRoot: "/nowhere/gt", townSocket: "x", tmux: "/tmp/tmux-1000/default,1,0", uid };
    expect(socketPaths(query)).toEqual(["/tmp/tmux-1000/work"]);
    expect(socketPaths({ ...query, socket: "/run/x/sock" })).toEqual(["/run/x/sock"]);
  });

  it("returns the town's, then GT_TOWN_SOCKET's, then tmux's default", () => {
    expect(socketPaths({ townRoot: "/nowhere/gt", townSocket: "mine", uid })).toEqual([
      `/tmp/tmux-1000/${townSocketName("/nowhere/gt")}`,
      "/tmp/tmux-1000/mine",
      "/tmp/tmux-1000/default",
    ]);
  });

  it("follows TMUX_TMPDIR, and the current server inside tmux", () => {
    expect(socketPaths({ tmuxTmpdir: "/usr/../usr", uid })).toEqual(["/usr/tmux-1000/default"]);
    expect(socketPaths({ tmuxTmpdir: "/not-there", uid })).toEqual(["/tmp/tmux-1000/default"]);
    expect(socketPaths({ tmux: "/run/other/sock,77,0", uid })).toEqual(["/run/other/sock"]);
    expect(socketPaths({ tmux: "", uid })).toEqual(["/tmp/tmux-1000/default"]);
  });

  it.each(["", "-L", "a b", "a\n"])("refuses %j", (socket) => {
    expect(() => socketPaths({ socket, uid })).toThrow(/not a tmux socket/);
  });
});

describe("townSocketName", () => {
  it("is the folder's name and six digits of its path's SHA-256", () => {
    expect(townSocketName("/nowhere/gt")).toMatch(/^gt-[0-9a-f]{6}$/);
    expect(townSocketName("/nowhere/My Town!")).toMatch(/^my-town-[0-9a-f]{6}$/);
    expect(townSocketName("/nowhere/a/gt")).not.toBe(townSocketName("/nowhere/b/gt"));
  });
});
