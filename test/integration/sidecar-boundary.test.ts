import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { requireMountNamespace, type TwoContainers, twoContainers } from "../support/cluster/two-containers.ts";
import { until } from "../support/sidecar/sidecar.ts";

/** Listens for 5 s on the socket that its first argument names, and sends its second (base64) to each client. */
const LISTENER = `
const said = Buffer.from(process.argv[3], "base64");
require("node:net").createServer((s) => { s.on("error", () => {}); setTimeout(() => s.write(said), 50); })
  .listen(process.argv[2], () => setTimeout(() => process.exit(), 5000));
`;

/** A message of tmux's own protocol: `MSG_SHELL`, which makes a client run a program. */
function msgShell(program: string): Buffer {
  const data = Buffer.from(`${program}\0`);
  const head = Buffer.alloc(16);
  head.writeUInt32LE(209, 0);
  head.writeUInt16LE(16 + data.length, 4);
  head.writeUInt32LE(8, 8);
  return Buffer.concat([head, data]);
}

async function violations(pod: TwoContainers): Promise<Readonly<Record<string, number>>> {
  const found = (await pod.metrics()).matchAll(/^gastown_boundary_violations_total\{kind="(\w+)"\} (\d+)/gm);
  return Object.fromEntries([...found].map(([, kind = "", count]) => [kind, Number(count)]));
}

async function attackUntil(pod: TwoContainers, kind: string, script: string): Promise<void> {
  const before = (await violations(pod))[kind] ?? 0;
  let said = pod.attack(script);
  await until(
    `a violation: ${kind}`,
    30_000,
    async () => {
      if (((await violations(pod))[kind] ?? 0) > before) return true;
      await sleep(300);
      said += pod.attack("tmux -N -S $S/tmux.sock copy-mode -q -t =claude: \\; send-keys -t =claude: x Enter 2>&1");
      return undefined;
    },
    () => `${said}\n${pod.log()}`,
  );
}

/** A script that puts a listener in place of a socket for 5 s, runs `meanwhile` after 1 s, and restores the socket. */
function inPlaceOf(socket: string, says: Buffer, meanwhile = "true"): string {
  const listen = `'${process.execPath}' $SHARED/listener.cjs $S/${socket} ${says.toString("base64")}`;
  return `mv $S/${socket} $S/away && { { sleep 1; ${meanwhile}; } & ${listen}; rm -f $S/${socket}; mv $S/away $S/${socket}; } 2>&1`;
}

const TMUX = "tmux -N -S $S/tmux.sock";
const AGAIN = `${TMUX} detach-client -s =claude 2>&1; sleep 1`;

describe.each(["root", "another user"] as const)(
  "an agent whose serving half runs in another container, both as %s",
  (user) => {
    beforeEach(requireMountNamespace);

    it("cannot read the key, nor run or delete anything in that container, and its attempts are logged", {
      timeout: 180_000,
    }, async () => {
      const secret = randomBytes(24).toString("hex");
      await using pod = await twoContainers(user, `-----BEGIN PRIVATE KEY-----\n${secret}\n`);
      writeFileSync(join(pod.shared, "listener.cjs"), LISTENER);
      writeFileSync(
        join(pod.shared, "evil.sh"),
        `#!/bin/sh\ncat '${pod.keyDir}/tls.key' >> '${pod.shared}/stolen'; touch '${pod.keyDir}/ran'\n`,
        { mode: 0o755 },
      );

      // tmux's own ways to make a client run a program, or load a file.
      for (const script of [
        `${TMUX} detach-client -s =claude -E $SHARED/evil.sh`,
        `${TMUX} set -s 'command-alias[90]' "attach-session=load-buffer -b stolen $KEY" && ${AGAIN}; ${TMUX} set -su 'command-alias[90]'`,
        `for c in save-buffer display-message list-panes; do ${TMUX} set -s 'command-alias[91]' "$c=load-buffer -b stolen $KEY"; ${AGAIN}; ${TMUX} set -su 'command-alias[91]'; done`,
        `${TMUX} set-hook -g client-attached "run-shell $SHARED/evil.sh" && ${AGAIN}; ${TMUX} set-hook -gu client-attached`,
        inPlaceOf("tmux.sock", msgShell(join(pod.shared, "evil.sh"))),
      ]) {
        pod.attack(script);
        pod.attack(AGAIN);
        await sleep(500);
      }

      // Links and other entries in place of the files that the serving half opens.
      await attackUntil(
        pod,
        "link",
        "rm -rf $S/hooks; ln -s $KEYDIR $S/hooks; printf 'prompt-submitted tls.key\\n' 1<>$S/hooks.fifo",
      );
      await sleep(3000);
      await attackUntil(pod, "link", `rm -rf $S/captures; ln -s $KEYDIR $S/captures; ${TMUX} pipe-pane -t =claude:`);
      await sleep(3000);
      await attackUntil(pod, "link", "rm -f $S/hooks.fifo; ln -s $KEY $S/hooks.fifo");
      await sleep(3000);
      pod.attack("for f in journal.jsonl journal.jsonl.next lock; do rm -f $S/$f; ln -s $KEY $S/$f; done");
      await attackUntil(pod, "pipe", `${TMUX} pipe-pane -O -t =claude: "cat > $SHARED/taken"`);

      // False peers on the halves' sockets.
      await attackUntil(
        pod,
        "stream",
        inPlaceOf("clients.sock", Buffer.from("%begin 1 1 0\n%end 1 1 0\n%begin 1 2 1\n%end 1 2 1\nx\n"), AGAIN),
      );
      await sleep(3000);
      expect(pod.attack(inPlaceOf("control.sock", Buffer.from("not a message\n")))).toBeDefined();

      const stolen = pod.attack(
        `cat $SHARED/stolen $SHARED/taken 2>&1; ${TMUX} show-buffer -b stolen 2>&1; grep -rs ${secret} $SHARED; ${TMUX} capture-pane -p -S - -t =claude:`,
      );
      expect(stolen).not.toContain(secret);
      expect(stolen).not.toContain("BEGIN PRIVATE KEY");
      const seen = join(`/proc/${pod.servingPid}/root`, pod.keyDir);
      expect(readdirSync(seen)).toEqual(["tls.key"]);
      expect(readFileSync(join(seen, "tls.key"), "utf8")).toContain(secret);
      const warnings = pod
        .log()
        .split("\n")
        .filter((line) => line.includes("tried to interfere with the serving half"));
      expect(warnings.filter((line) => line.includes('"kind":"link"'))).toHaveLength(1);
      await until("the pod to be ready again", 30_000, async () => (await pod.isReady()) || undefined, pod.log);
    });
  },
);
