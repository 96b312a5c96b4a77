import { expect, it } from "vitest";
import { TestCa } from "../support/bridge/certificates.ts";
import { MountedSecret } from "../support/bridge/secret.ts";
import { type PersonTerminal, personTerminal } from "../support/sidecar/person-terminal.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

const old = new TestCa("old");
const next = new TestCa("next");
const both = old.pem + next.pem;
const serverOf = (ca: TestCa) => ca.issue({ uris: ["spiffe://town.example/ns/agents/session/s1"], ips: ["127.0.0.1"] });
const callerOf = (ca: TestCa) => ca.issue({ uris: ["spiffe://town.example/client/ann"] });

/** A person who runs a command of gt that lasts until they leave. */
async function running(sidecar: RunningSidecar, command: string, tlsDir: string): Promise<PersonTerminal> {
  const place = `--host ${sidecar.host} --port ${sidecar.port} --tls-dir ${tlsDir}`;
  const person = personTerminal({
    command: `gt ${command} test/polecats/demo ${place}; echo "code $?"`,
    env: { PATH: process.env["PATH"] ?? "", HOME: sidecar.dir, LANG: "C.UTF-8", XDG_RUNTIME_DIR: sidecar.dir },
  });
  await person.sees("> Type a message");
  return person;
}

it("long-running commands reconnect with their new certificate after the CA has been replaced", async () => {
  await using serving = await MountedSecret.create(serverOf(old));
  await using calling = await MountedSecret.create(callerOf(old));
  const allowed = ["--allow-client", "spiffe://town.example/client/ann=operate"];
  await using sidecar = await startSidecar({ flags: ["--tls-dir", serving.dir, "--session-id", "s1", ...allowed] });
  await using watching = await running(sidecar, "watch", calling.dir);
  await using following = await running(sidecar, "peek -f", calling.dir);
  await using attached = await running(sidecar, "attach", calling.dir);
  const all = [watching, following, attached];
  const reloaded = (count: number) =>
    until("the sidecar to take it", 30_000, async () => {
      const text = await (await fetch(`${sidecar.healthUrl}/metrics`)).text();
      return text.includes(`gastown_tls_reloads_total ${count}\n`) || undefined;
    });

  await serving.put({ ...serverOf(old), ca: both });
  await calling.put({ ...callerOf(old), ca: both });
  await reloaded(2);
  await serving.put({ ...serverOf(next), ca: both });
  await calling.put({ ...callerOf(next), ca: both });
  await reloaded(3);
  await serving.put({ ...serverOf(next), ca: next.pem });
  await calling.put({ ...callerOf(next), ca: next.pem });

  await Promise.all(all.map((person) => person.sees("reconnected", 30_000)));
  attached.type("still here\r");
  for (const person of all) await person.sees("> still here");
  for (const person of all) expect(person.text()).not.toMatch(/gt: error|^code /m);
});
