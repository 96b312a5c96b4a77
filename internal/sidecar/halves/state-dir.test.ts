import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { prepareStateDir, refuseForeignFiles, statePaths, writeStateFiles } from "./state-dir.ts";

const uid = process.getuid?.() ?? 0;
let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "gt-state-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe("a state folder", () => {
  it("is created, private, with its parent folders", () => {
    const paths = statePaths(join(root, "a", "b"));
    prepareStateDir(paths, uid);
    for (const dir of [paths.dir, paths.hookDir, paths.captures]) expect(modeOf(dir)).toBe(0o700);
  });

  it("that exists becomes private; the journal stays, one-use files are removed", () => {
    const paths = statePaths(join(root, "s"));
    prepareStateDir(paths, uid);
    chmodSync(paths.dir, 0o755);
    writeFileSync(paths.journal, "kept");
    writeFileSync(join(paths.captures, "old"), "");
    writeFileSync(join(paths.hookDir, "old"), "");
    prepareStateDir(paths, uid);
    expect([modeOf(paths.dir), readFileSync(paths.journal, "utf8")]).toEqual([0o700, "kept"]);
    expect([existsSync(join(paths.captures, "old")), existsSync(join(paths.hookDir, "old"))]).toEqual([false, false]);
  });

  it("is refused if it is a link, a file, or belongs to another user", () => {
    mkdirSync(join(root, "real"));
    symlinkSync(join(root, "real"), join(root, "link"));
    symlinkSync(join(root, "nowhere"), join(root, "dangling"));
    writeFileSync(join(root, "file"), "");
    const denied = expect.objectContaining({ kind: "denied" });
    for (const name of ["link", "dangling", "file"])
      expect(() => prepareStateDir(statePaths(join(root, name)), uid), name).toThrow(denied);
    expect(() => prepareStateDir(statePaths(join(root, "real")), uid + 1)).toThrow(denied);
  });

  it("is refused at a start, unchanged, if it has someone's own files in the place of a sidecar's", () => {
    const made: Readonly<Record<string, () => string>> = {
      hooks: () => join(mkdirSync(join(root, "hooks"), { recursive: true }) ?? join(root, "hooks"), "pre-commit"),
      captures: () => join(mkdirSync(join(root, "captures"), { recursive: true }) ?? join(root, "captures"), "1.png"),
      lock: () => join(mkdirSync(join(root, "lock"), { recursive: true }) ?? join(root, "lock"), "x"),
      "tmux.conf": () => join(root, "tmux.conf"),
    };
    chmodSync(root, 0o755);
    for (const [name, place] of Object.entries(made)) {
      writeFileSync(place(), "mine");
      const denied = {
        kind: "denied",
        message: expect.stringContaining(`${join(root, name)} does not belong to a sidecar`),
      };
      expect(() => refuseForeignFiles(statePaths(root)), name).toThrow(expect.objectContaining(denied));
      expect([readFileSync(place(), "utf8"), readdirSync(root), modeOf(root)], name).toEqual(["mine", [name], 0o755]);
      rmSync(join(root, name), { recursive: true });
    }
    prepareStateDir(statePaths(root), uid);
    writeFileSync(statePaths(root).lock, "secret");
    writeFileSync(join(root, "hooks", "payload"), "of a sidecar");
    refuseForeignFiles(statePaths(root));
    refuseForeignFiles(statePaths(join(root, "new")));
  });

  it("that cannot be created is refused, and not reported as a bug", () => {
    writeFileSync(join(root, "file"), "");
    for (const dir of [join(root, "file", "below"), "/proc/below/it"]) {
      const denied = expect.objectContaining({ kind: "denied", message: expect.stringContaining(dir) });
      expect(() => prepareStateDir(statePaths(dir), uid), dir).toThrow(denied);
    }
  });

  it("is refused if a socket's path in it would be too long", () => {
    const fits = join(root, "x".repeat(107 - "/control.sock".length - root.length - 1));
    prepareStateDir(statePaths(fits), uid);
    expect(Buffer.byteLength(statePaths(fits).control)).toBe(107);
    expect(() => prepareStateDir(statePaths(`${fits}x`), uid)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });

  it("loses anything else in the place of our files and sockets", () => {
    const paths = statePaths(join(root, "s"));
    prepareStateDir(paths, uid);
    writeFileSync(join(root, "precious"), "x");
    for (const path of [paths.journal, paths.hookFifo]) symlinkSync(join(root, "precious"), path);
    for (const path of [paths.lock, paths.control, paths.tmuxSocket, paths.tmuxConfig])
      mkdirSync(join(path, "deep"), { recursive: true });
    prepareStateDir(paths, uid);
    expect(readdirSync(paths.dir).sort()).toEqual(["captures", "hooks"]);
    expect(readFileSync(join(root, "precious"), "utf8")).toBe("x");
  });

  it("does not remove the target of a planted link", () => {
    const paths = statePaths(join(root, "s"));
    prepareStateDir(paths, uid);
    rmSync(paths.hookDir, { recursive: true });
    mkdirSync(join(root, "precious"));
    writeFileSync(join(root, "precious", "file"), "x");
    symlinkSync(join(root, "precious"), paths.hookDir);
    prepareStateDir(paths, uid);
    expect(readFileSync(join(root, "precious", "file"), "utf8")).toBe("x");
  });
});

describe("files of a launch", () => {
  it("are private, and replace existing ones, including a link", () => {
    const paths = statePaths(join(root, "s"));
    prepareStateDir(paths, uid);
    writeFileSync(join(root, "outside"), "untouched");
    const file = join(paths.dir, "sub", "settings.json");
    mkdirSync(join(paths.dir, "sub"));
    symlinkSync(join(root, "outside"), file);
    writeStateFiles(paths, { [file]: "new" });
    expect([readFileSync(file, "utf8"), modeOf(file)]).toEqual(["new", 0o600]);
    expect(readFileSync(join(root, "outside"), "utf8")).toBe("untouched");
  });

  it("that cannot be written are refused, and not reported as a bug", () => {
    const paths = statePaths(root);
    writeFileSync(join(root, "a"), "");
    const refused = { kind: "denied", message: expect.stringMatching(/^cannot write .*: a file is in the way$/) };
    expect(() => writeStateFiles(paths, { [join(root, "a", "b")]: "" })).toThrow(expect.objectContaining(refused));
  });

  it("are never outside the folder", () => {
    const paths = statePaths(join(root, "s"));
    for (const path of [join(root, "elsewhere"), `${paths.dir}x/file`, `${paths.dir}/../elsewhere`])
      expect(() => writeStateFiles(paths, { [path]: "" }), path).toThrow(/outside/);
  });
});
