import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { inClusterCredentials } from "./credentials.ts";
import { kubeconfigCredentials } from "./kubeconfig.ts";

const TLS = new TestCa("cluster").issue({ usages: ["client"] });

describe("credentials", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "gt-kube-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("of a pod are read from their files each time", async () => {
    const credentials = inClusterCredentials("fd00::1", "443", folder);
    await expect(credentials.access()).rejects.toMatchObject({ kind: "precondition" });
    await writeFile(join(folder, "token"), "one\n");
    await writeFile(join(folder, "ca.crt"), "CA");
    const server = "https://[fd00::1]:443";
    expect(await credentials.access()).toEqual({ server, tls: { ca: "CA" }, headers: { authorization: "Bearer one" } });
    await writeFile(join(folder, "token"), "two");
    expect((await credentials.access()).headers).toEqual({ authorization: "Bearer two" });
  });

  it.each([
    ["certificate-authority", "", "certificate-authority-data of the kubeconfig holds no certificate in PEM"],
    ["client-key", TLS.cert, "client-key-data of the kubeconfig holds a certificate, not a private key"],
    ["client-key", new TestCa("other").itself.key, "client-key-data of the kubeconfig is not the key of client-cert"],
  ])("of a kubeconfig whose %s is unusable are refused by name", async (key, text, why) => {
    const path = join(folder, "config");
    const entry = { [`${key}-data`]: btoa(text || "hello") };
    const user = { "client-certificate-data": btoa(TLS.cert), "client-key-data": btoa(TLS.key), ...entry };
    const clusters = [{ name: "c", cluster: { server: "https://h:1", ...entry } }];
    const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
    await writeFile(path, JSON.stringify({ clusters, users: [{ name: "u", user }], contexts }));
    await expect(kubeconfigCredentials(path, "x")).rejects.toThrow(why);
    await expect(kubeconfigCredentials(path, "x")).rejects.toMatchObject({ kind: "invalid" });
  });

  it("of a kubeconfig are those of its current context, or of the named one", async () => {
    const path = join(folder, "config");
    const user = (name: string, fields: object) => ({ name, user: fields });
    await writeFile(
      path,
      JSON.stringify({
        clusters: [{ name: "c", cluster: { server: "https://h:1/k", "certificate-authority-data": btoa(TLS.ca) } }],
        users: [
          user("a", { token: "t" }),
          user("b", { "client-certificate-data": btoa(TLS.cert), "client-key-data": btoa(TLS.key) }),
        ],
        contexts: ["a", "b"].map((name) => ({ name, context: { cluster: "c", user: name } })),
        "current-context": "a",
      }),
    );
    const server = "https://h:1/k";
    const { ca, cert, key } = TLS;
    const [first, second] = [await kubeconfigCredentials(path), await kubeconfigCredentials(path, "b")];
    expect(await first.access()).toEqual({ server, tls: { ca }, headers: { authorization: "Bearer t" } });
    expect(await second.access()).toEqual({ server, tls: { ca, cert, key }, headers: {} });
    await expect(kubeconfigCredentials(path, "none")).rejects.toMatchObject({ kind: "invalid" });
    await expect(kubeconfigCredentials(join(folder, "missing"))).rejects.toMatchObject({ kind: "invalid" });
  });

  it("of a kubeconfig may come from a program, which runs again when they expire", async () => {
    const path = join(folder, "config");
    const program = join(folder, "plugin");
    const answer = (token: string, expirationTimestamp: string) =>
      writeFile(program, `#!/bin/sh\necho '${JSON.stringify({ status: { token, expirationTimestamp } })}'\n`, {
        mode: 0o755,
      });
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin", args: ["get"] };
    const context = { name: "x", context: { cluster: "c", user: "u" } };
    const clusters = [{ name: "c", cluster: { server: "https://h" } }];
    await writeFile(path, JSON.stringify({ clusters, users: [{ name: "u", user: { exec } }], contexts: [context] }));
    const credentials = await kubeconfigCredentials(path, "x");
    await answer("one", "2020-01-01T00:00:00Z");
    expect((await credentials.access()).headers).toEqual({ authorization: "Bearer one" });
    await answer("two", "2120-01-01T00:00:00Z");
    expect((await credentials.access()).headers).toEqual({ authorization: "Bearer two" });
    await writeFile(program, "#!/bin/sh\nexit 1\n");
    expect((await credentials.access()).headers).toEqual({ authorization: "Bearer two" });
  });

  it.each([
    ["#!/bin/sh\necho s3cret; echo s3cret >&2; exit 7\n", "it ended with exit code 7"],
    ["#!/bin/sh\necho '{}'\n", "it printed none"],
    [undefined, "there is no such program"],
  ])("of a program that returns none name the reason, and not its output: %j", async (script, reason) => {
    const path = join(folder, "config");
    if (script !== undefined) await writeFile(join(folder, "plugin"), script, { mode: 0o755 });
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: script === undefined ? "./none" : "./plugin",
    };
    const context = { name: "x", context: { cluster: "c", user: "u" } };
    const clusters = [{ name: "c", cluster: { server: "https://h" } }];
    await writeFile(path, JSON.stringify({ clusters, users: [{ name: "u", user: { exec } }], contexts: [context] }));
    const credentials = await kubeconfigCredentials(path, "x");
    const message = `the kubeconfig's exec plug-in ${exec.command} gave no credential: ${reason}`;
    await expect(credentials.access()).rejects.toMatchObject({ kind: "precondition", message });
  });
});
