import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CaSandbox, PASSPHRASE } from "../support/bridge/bridge-ca.ts";
import { requireMountNamespace } from "../support/cluster/two-containers.ts";

const FAILING = fileURLToPath(new URL("../fakes/failing-files-main.ts", import.meta.url));

/** A test that lets a command fail at each of its changes starts some forty programs. */
const KILLS_MS = 300_000;

let sandbox: CaSandbox;

beforeAll(async () => {
  sandbox = await CaSandbox.create();
  await sandbox.ok(
    `mkdir ready && cd ready
     bridge-ca init --name theirs --out theirs/
     bridge-ca init --name ours --out certs/
     bridge-ca issue --type server --cn bridge.example --out certs/bridge
     bridge-ca cross-sign --target-ca theirs/ca.crt --out certs/theirs-x.crt
     # Hundreds of commands read these keys: with the 600,000 rounds that "init" writes that would be most of the test's time.
     for key in theirs/ca.key certs/ca.key; do
       pass="-passin env:BRIDGE_CA_PASSPHRASE -passout env:BRIDGE_CA_PASSPHRASE"
       (umask 077; openssl pkcs8 -topk8 -v2 aes-256-cbc -iter 1000 -in $key $pass -out $key.new)
       mv $key.new $key
     done`,
  );
  await failing("bridge-ca --help", "kill", Number.POSITIVE_INFINITY, "."); // fills the cache: a killed process does not
});

afterAll(() => sandbox[Symbol.asyncDispose]());

/** A fresh copy of the files that were made before all tests. */
async function fresh(): Promise<string> {
  await rm(sandbox.path("work"), { recursive: true, force: true });
  await cp(sandbox.path("ready"), sandbox.path("work"), { recursive: true });
  return "work";
}

/** Runs `command`; its change number `at` to the file system fails. */
function failing(command: string, how: string, at: number, folder: string) {
  const env = {
    ...{ NODE_OPTIONS: `--import=${FAILING}`, FAIL_HOW: how, FAIL_AT: String(at), KILLED: sandbox.path("killed") },
    // To compile FAILING takes as long as a whole command.
    NODE_COMPILE_CACHE: sandbox.path("compiled"),
  };
  return sandbox.sh(command, { folder, env });
}

/** Checks every file that bridge-ca may have made: complete, and private if it is a key. */
async function checkFiles(folder: string): Promise<void> {
  for (const name of await readdir(sandbox.path(folder), { recursive: true })) {
    const path = sandbox.path(folder, name);
    if ((await stat(path)).isDirectory()) continue;
    const { mode } = await stat(path);
    if (name.endsWith(".key") || name.includes(".key")) expect([name, mode & 0o077]).toEqual([name, 0]);
    if (name.split("/").at(-1)?.startsWith(".bridge-ca-")) continue; // a temporary file
    const text = await readFile(path, "utf8");
    if (name.endsWith(".crt")) expect(new X509Certificate(text).serialNumber).toMatch(/^[0-9A-F]+$/);
    if (name.endsWith(".key")) expect(createPrivateKey({ key: text, passphrase: PASSPHRASE }).type).toBe("private");
    if (name.endsWith(".json")) expect(JSON.parse(text).version).toBe(1);
    if (name.endsWith(".pem")) expect(text).toMatch(/-----END X509 CRL-----\n$/);
  }
}

/** The last element: a pair of key and certificate, without their extensions; empty if the command makes none. */
const COMMANDS: readonly (readonly [name: string, command: string, pair: string])[] = [
  ["init", "bridge-ca init --name new --out new/", "new/ca"],
  ["issue", "bridge-ca issue --type client --cn a --out certs/a", "certs/a"],
  ["issue into a folder", "bridge-ca issue --type sidecar --cn s1 --out tls/", "tls/tls"],
  ["cross-sign", "bridge-ca cross-sign --target-ca theirs/ca.crt --out certs/x.crt", ""],
  ["bundle", "bridge-ca bundle --cross-signed certs/theirs-x.crt --out certs/bundle.crt", ""],
  ["jwt-keygen", "bridge-ca jwt-keygen --out certs/jwt", ""],
  ["renew", "bridge-ca renew --cert certs/bridge.crt", "certs/bridge"],
  ["revoke", "bridge-ca revoke --cert certs/bridge.crt", ""],
  ["crl", "bridge-ca crl --out certs/crl.pem", ""],
];

describe("bridge-ca, killed at each change that it makes to the file system:", () => {
  it.each(COMMANDS)(
    "%s leaves no partial file, and succeeds when it is run again",
    async (_, command, pair) => {
      // One run leaves a folder for each possible kill; each run with a real kill would cost as much as this one. For
      // real kills, see below.
      await rm(sandbox.path("killed"), { recursive: true, force: true });
      await mkdir(sandbox.path("killed"));
      const { code, stderr } = await failing(command, "copy", 0, await fresh());
      expect([code, stderr]).toEqual([0, expect.not.stringContaining("error")]);
      const kills = (await readdir(sandbox.path("killed"))).length;
      for (let at = 0; at < kills; at++) {
        const folder = `killed/${at}`;
        await checkFiles(folder);
        await runAgain(command, folder);
        await checkFiles(folder);
        if (pair !== "") await checkPair(`${folder}/${pair}`);
        expect((await readdir(sandbox.path(folder, "certs"))).filter((name) => name.startsWith("."))).toEqual([]);
      }
      expect(kills).toBeGreaterThan(2);
    },
    KILLS_MS,
  );
});

/** Runs the command again: everything must have been in place when the process was killed, or be in place now. */
async function runAgain(command: string, folder: string): Promise<void> {
  const { code, stderr } = await sandbox.sh(command, { folder });
  if (code !== 0) expect([code, stderr]).toEqual([3, expect.stringContaining("already exists")]);
  const out = /--out (\S+)/.exec(command)?.[1] ?? "certs/bridge.crt";
  const [cert, pub] = [`${out}.crt`, `${out}.pub`].map((path) => sandbox.path(folder, path));
  const made = [sandbox.path(folder, out), cert, pub].filter((path) => path !== undefined && existsSync(path));
  expect(made.length).toBeGreaterThan(0);
}

async function checkPair(prefix: string): Promise<void> {
  const certificate = new X509Certificate(await readFile(sandbox.path(`${prefix}.crt`)));
  const key = createPrivateKey({ key: await readFile(sandbox.path(`${prefix}.key`)), passphrase: PASSPHRASE });
  expect(certificate.checkPrivateKey(key)).toBe(true);
}

it(
  "a renewal that was killed between key and certificate is completed by the next renewal, whether due or not",
  async () => {
    for (let at = 0; ; at++) {
      const folder = await fresh();
      const { code } = await failing("bridge-ca renew --cert certs/bridge.crt", "kill", at, folder);
      if (code === 0) break;
      await sandbox.ok("bridge-ca renew --cert certs/bridge.crt --within 1d", folder);
      await checkPair(`${folder}/certs/bridge`);
    }
  },
  KILLS_MS,
);

describe("a failed write", () => {
  it.each([
    ["a full disk", "ENOSPC", "no space left on the device"],
    ["a read-only file system", "EROFS", "the file system is read-only"],
    ["a folder without permission", "EACCES", "permission denied"],
  ])(
    "on %s is reported with its cause, and existing files stay as they are",
    async (_, code, words) => {
      for (const [, command] of COMMANDS) {
        const folder = await fresh();
        const before = await snapshot(folder);
        const ran = await failing(command, code, 0, folder);
        expect([command, ran.code, ran.stderr]).toEqual([
          command,
          3,
          expect.stringMatching(`^bridge-ca: error: cannot .*${words}`),
        ]);
        expect(await snapshot(folder)).toEqual(before);
      }
    },
    KILLS_MS,
  );

  const ofEachKind = COMMANDS.filter(([name]) => ["init", "issue", "renew", "revoke"].includes(name));
  it.each(ofEachKind)(
    "at any later step of %s is reported and leaves no partial file; the next run succeeds",
    async (_, command, pair) => {
      for (let at = 1; ; at++) {
        const folder = await fresh();
        const ran = await failing(command, "ENOSPC", at, folder);
        if (ran.code === 0) break;
        expect([at, ran.code, ran.stderr]).toEqual([
          at,
          3,
          expect.stringMatching("^bridge-ca: error: cannot .*no space left on the device"),
        ]);
        await checkFiles(folder);
        await runAgain(command, folder);
        await checkFiles(folder);
        if (pair !== "") await checkPair(`${folder}/${pair}`);
      }
    },
    KILLS_MS,
  );

  it("on a full disk is reported, and leaves no file there", async (context) => {
    requireMountNamespace(context);
    const folder = await fresh();
    const ran = await sandbox.sh(
      `mkdir disk
       mount -t tmpfs -o size=8k none disk
       trap 'ls -A disk; umount disk' EXIT
       head -c 8192 /dev/zero > disk/filler
       codes=
       for command in \
         "issue --type client --cn a --out disk/a" "cross-sign --target-ca theirs/ca.crt --out disk/x.crt" \
         "bundle --cross-signed certs/theirs-x.crt --out disk/bundle.crt" "jwt-keygen --out disk/jwt" \
         "crl --out disk/crl.pem" "init --name new --out disk/"
       do bridge-ca $command || codes="$codes $?"; done
       echo $codes`,
      { folder },
    );
    expect([ran.code, ran.stdout]).toEqual([0, "3 3 3 3 3 3\nfiller\n"]);
    expect(ran.stderr.match(/^bridge-ca: error: cannot write .*no space left on the device$/gm)?.length).toBe(6);
  });
});

/** The contents of a folder's files. */
async function snapshot(folder: string): Promise<Record<string, string>> {
  const found = await readdir(sandbox.path(folder), { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const entries = paths.sort().map(async (path) => [path, await readFile(path, "utf8")]);
  return Object.fromEntries(await Promise.all(entries)) as Record<string, string>;
}

describe("concurrent commands that", () => {
  it("issue under different names all succeed, and each certificate has its own serial", async () => {
    const folder = await fresh();
    const names = ["a", "b", "c", "d", "e"];
    await Promise.all(
      names.map((name) => sandbox.ok(`bridge-ca issue --type client --cn ${name} --out certs/${name}`, folder)),
    );
    const state = JSON.parse(await readFile(sandbox.path(folder, "certs/ca.state.json"), "utf8"));
    const serials = state.issued.map(({ serial }: { serial: string }) => serial);
    expect(serials.length).toBe(names.length + 2);
    expect(new Set(serials).size).toBe(serials.length);
    for (const name of names) await checkPair(`${folder}/certs/${name}`);
  });

  it.each([
    ["issue", "bridge-ca issue --type client --cn a --out certs/a", "certs/a"],
    ["init", "bridge-ca init --name new --out new/", "new/ca"],
  ])("%s to the same path: one succeeds, the others report that it already exists", async (_, command, pair) => {
    const folder = await fresh();
    const ran = await Promise.all([1, 2, 3].map(() => sandbox.sh(command, { folder })));
    expect(ran.map(({ code }) => code).sort()).toEqual([0, 3, 3]);
    expect(ran.map(({ stderr }) => stderr).join("")).toContain("already exists");
    await checkPair(`${folder}/${pair}`);
  });

  it("renew the same certificate leave a key and a certificate that match", async () => {
    const folder = await fresh();
    const ran = await Promise.all(
      [1, 2, 3].map(() => sandbox.sh("bridge-ca renew --cert certs/bridge.crt", { folder })),
    );
    expect(ran.map(({ code }) => code)).toContain(0);
    for (const { code } of ran) expect([0, 6]).toContain(code);
    await checkPair(`${folder}/certs/bridge`);
  });
});

describe("the CA's key", () => {
  it("is not opened with a wrong passphrase, and nothing is written", async () => {
    const folder = await fresh();
    const before = await snapshot(folder);
    for (const command of [
      "issue --type client --cn a --out certs/a",
      "crl --out certs/crl.pem",
      "renew --cert certs/bridge.crt",
    ]) {
      const ran = await sandbox.sh(`bridge-ca ${command}`, { folder, env: { BRIDGE_CA_PASSPHRASE: "wrong" } });
      expect([ran.code, ran.stderr]).toEqual([
        5,
        expect.stringContaining("cannot open certs/ca.key: the passphrase is wrong"),
      ]);
    }
    expect(await snapshot(folder)).toEqual(before);
  });

  it("is refused when others can read it, with the command that repairs its mode", async () => {
    const folder = await fresh();
    const command = "bridge-ca issue --type client --cn a --out certs/a";
    for (const mode of [0o644, 0o640, 0o604, 0o660]) {
      await chmod(sandbox.path(folder, "certs/ca.key"), mode);
      const ran = await sandbox.sh(command, { folder });
      expect([ran.code, ran.stderr]).toEqual([5, expect.stringContaining(`(mode 0${mode.toString(8)})`)]);
      expect(ran.stderr).toContain("bridge-ca: hint: chmod 600 certs/ca.key");
    }
    await sandbox.ok(`chmod 600 certs/ca.key\n${command}`, folder);
  });

  it("needs a passphrase, and the error names the ways to give one", async () => {
    const folder = await fresh();
    const ran = await sandbox.sh("bridge-ca crl --out certs/crl.pem", { folder, env: { BRIDGE_CA_PASSPHRASE: "" } });
    expect([ran.code, ran.stderr]).toEqual([5, expect.stringContaining("--passphrase-file FILE, --passphrase-fd N")]);
  });

  it("is opened with a passphrase from a file, a pipe or a descriptor, never from the command line", async () => {
    const folder = await fresh();
    await writeFile(sandbox.path(folder, "pass"), `${PASSPHRASE}\n`, { mode: 0o600 });
    const env = { BRIDGE_CA_PASSPHRASE: "" };
    for (const [i, how] of [
      "--passphrase-file pass",
      "--passphrase-fd 3 3<pass",
      "--passphrase-fd 0 <pass",
    ].entries()) {
      const ran = await sandbox.sh(`bridge-ca issue --type client --cn a${i} --out certs/a${i} ${how}`, {
        folder,
        env,
      });
      expect([how, ran.code, ran.stderr]).toEqual([how, 0, ""]);
    }
    const typed = await sandbox.sh(`bridge-ca crl --out c.pem --passphrase "${PASSPHRASE}"`, { folder, env });
    expect([typed.code, typed.stderr]).toEqual([2, expect.stringContaining("unknown flag --passphrase")]);
  });
});

describe("an existing file", () => {
  it.each([
    ["init", "bridge-ca init --name other --out certs/", false],
    ["issue", "bridge-ca issue --type server --cn b.example --out certs/bridge", true],
    ["cross-sign", "bridge-ca cross-sign --target-ca theirs/ca.crt --out certs/theirs-x.crt", true],
    ["bundle", "bridge-ca bundle --out certs/theirs-x.crt", true],
    ["crl", "bridge-ca crl --out certs/theirs-x.crt", true],
  ])("is not overwritten by %s without --force", async (_, command, hasForce) => {
    const folder = await fresh();
    const before = await snapshot(folder);
    const ran = await sandbox.sh(command, { folder });
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining("already exists")]);
    expect(await snapshot(folder)).toEqual(before);
    const forced = await sandbox.sh(`${command} --force`, { folder });
    expect(forced.code).toBe(hasForce ? 0 : 2);
  });
});

describe("a path that is not a regular file", () => {
  it.each([
    ["a FIFO that nobody writes to", "mkfifo odd", "odd", "no certificate"],
    ["an endless device", "true", "/dev/zero", "larger than"],
    ["a file that is too large", "truncate -s 65M odd", "odd", "larger than"],
    ["a folder", "mkdir odd", "odd", "it is a folder"],
  ])("is reported at once: %s", async (_, make, path, words) => {
    const folder = await fresh();
    const ran = await sandbox.sh(
      `${make}; exec timeout -s KILL 20 bridge-ca verify --cert ${path} --bundle certs/ca.crt`,
      { folder },
    );
    expect([ran.code, ran.stderr]).toEqual([expect.toBeOneOf([2, 3]), expect.stringContaining(words)]);
  });

  it("may be a pipe, which is read to its end however slow its writer is", async () => {
    const folder = await fresh();
    const ran = await sandbox.sh("(sleep 0.3; cat certs/bridge.crt) | bridge-ca inspect /dev/stdin", { folder });
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("bridge.example")]);
  });
});
