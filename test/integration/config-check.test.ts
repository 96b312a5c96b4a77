import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "config-check-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function ran(
  daemon: "bridge" | "gt-controller" | "relay" | "desk",
  text: string,
  ...args: readonly string[]
): Promise<Ran> {
  const file = join(folder, `${daemon}.yaml`);
  await writeFile(file, text);
  const env = { PATH: process.env["PATH"], HOME: folder };
  const argv = [programFile(daemon), ...args, "--config", file];
  const { code, stdout, stderr } = await runToEnd(process.execPath, argv, { cwd: "/", env });
  return { code, out: stdout, err: stderr.replaceAll(`${folder}/`, "") };
}

/** The lines of a report that name a line of a file. */
const placed = ({ err }: Ran) => err.split("\n").filter((line) => /^[a-z-]+\.yaml:\d+: /.test(line));

const BRIDGE = `server:
  listn: 127.0.0.1:9445
tls: { ca_bundle: ca.crt, cert: bridge.crt, key: bridge.key }
auth:
  jwt_public_keys: [{ issuer: shop, key_path: shop.pub }]
  jwt_max_ttl: 1h
sessions:
  idle_timeout: 30
providers: { cladue: {} }
allowed_paths: [srv]
`;

const CONTROLLER = `trust_domain: Town
ca:
  namespace: gastown-ca
  secret: gastown-ca
  reload: 15
auth:
  jwt_public_keys:
    - { issuer: shop, key_path: shop.pub, projets: [shop] }
namespaces:
  - { name: agents, project: shop }
  - { name: agents, project: desk }
providers:
  claude:
    imge: x
    image: agent:1
`;

const RELAY = `lisen: 127.0.0.1:1
nats:
  replicas: 2
  outbox_bytes: 12
turns:
  deadline: soon
  permission: aks
`;

const DESK = `version: 2
supervisor:
  agent: cladue
  read: ["/docs/**"]
customer:
  rot: ./docs
limits:
  turn: 5
`;

describe.each(["check", "serve"])(
  "five faults of a file are reported on five lines, with exit code 2, by",
  (command) => {
    const args = command === "check" ? ["check"] : [];

    it("bridge", async () => {
      const report = await ran("bridge", BRIDGE, ...args);
      expect(placed(report)).toEqual([
        "bridge.yaml:2: server.listn: is not known here; did you mean listen?",
        "bridge.yaml:6: auth.jwt_max_ttl: must be a duration such as 30s, 5m or 1h30m, from 1s to 5m",
        "bridge.yaml:8: sessions.idle_timeout: must be a duration such as 30s, 5m or 1h30m, from 0s to 8760h",
        "bridge.yaml:9: providers.cladue: is not known here; did you mean claude?",
        "bridge.yaml:10: allowed_paths[0]: must be an absolute path; * matches one component",
      ]);
      expect(report).toMatchObject({ code: 2, out: "" });
    });

    it("gt-controller", async () => {
      const report = await ran("gt-controller", CONTROLLER, ...args);
      expect(placed(report)).toEqual([
        "gt-controller.yaml:1: trust_domain: must be lower-case letters, digits, dots and dashes",
        "gt-controller.yaml:5: ca.reload: must be a duration such as 30s, 5m or 1h30m, from 1s to 87600h",
        "gt-controller.yaml:8: auth.jwt_public_keys[0].projets: is not known here; did you mean projects?",
        "gt-controller.yaml:11: namespaces[1].name: is bound twice: one namespace belongs to one project (agents)",
        "gt-controller.yaml:14: providers.claude.imge: is not known here; did you mean image?",
      ]);
      expect(report).toMatchObject({ code: 2, out: "" });
    });
  },
);

it.each<["relay" | "desk", string, readonly string[]]>([
  [
    "relay",
    RELAY,
    [
      "relay.yaml:1: lisen: is not known here; did you mean listen?",
      "relay.yaml:3: nats.replicas: must be 1 or 3",
      "relay.yaml:4: nats.outbox_bytes: must be a whole number of bytes, or a size such as 64KiB, from 65536 to 1073741824",
      "relay.yaml:6: turns.deadline: must be a duration such as 30s, 5m or 1h30m, from 1s to 24h",
      "relay.yaml:7: turns.permission: must be one of ask, deny, allow_reads",
    ],
  ],
  [
    "desk",
    DESK,
    [
      "desk.yaml:1: version: must be 1",
      "desk.yaml:3: supervisor.agent: must be one of reader, claude, codex, opencode",
      "desk.yaml:4: supervisor.read[0]: must be a path that begins with /admin/, with * within a part and ** for any parts",
      "desk.yaml:6: customer.rot: is not known here; did you mean root?",
      "desk.yaml:8: limits.turn: must be a duration such as 30s, 5m or 1h30m, from 1s to 1h",
    ],
  ],
])("five faults of %s's file are reported on five lines, with exit code 2", async (daemon, text, lines) => {
  const report = await ran(daemon, text, "check");
  expect(placed(report)).toEqual(lines);
  expect(report).toMatchObject({ code: 2, out: "" });
});

it("a missing file that a configuration names is a fault of its line", async () => {
  const text = CONTROLLER.replace("Town", "town.example")
    .replace("reload: 15", "reload: 15s")
    .replace("projets", "projects")
    .replace("name: agents, project: desk", "name: desk, project: desk")
    .replace("    imge: x\n", "");
  const report = await ran("gt-controller", text, "check");
  expect(placed(report)).toEqual([
    `gt-controller.yaml:8: auth.jwt_public_keys[0].key_path: cannot read shop.pub: there is no such file`,
  ]);
  expect(report.code).toBe(2);
  const without = await ran("gt-controller", text.replace(/^auth:(\n +.*)*\n/m, ""), "check");
  expect(without).toMatchObject({ code: 0, out: expect.stringContaining(": ok"), err: "" });
});
