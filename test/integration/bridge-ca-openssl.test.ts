// Compares openssl and bridge-ca as judges of bridge-ca's files: both accept, or both refuse.
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CaSandbox } from "../support/bridge/bridge-ca.ts";

let sandbox: CaSandbox;

/**
 * A leaf that openssl signs with another CA's own key, as that CA's owner could mint it. `ext` are lines of an openssl
 * section.
 */
async function mint(
  name: string,
  ca: string,
  ext: readonly string[],
  subject = `/CN=${name}`,
  days = 7,
): Promise<void> {
  await writeFile(sandbox.path(`${name}.ext`), [...ext, ""].join("\n"));
  await sandbox.ok(
    `openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "${subject}" -keyout ${name}.key -out ${name}.csr
     openssl x509 -req -in ${name}.csr -CA ${ca}.crt -CAkey ${ca}.key -days ${days} -extfile ${name}.ext -out ${name}.crt`,
  );
}

async function makeForeignCa(
  name: string,
  config: readonly string[] = [],
  key = "ec -pkeyopt ec_paramgen_curve:P-384",
) {
  const extensions = ["basicConstraints=critical,CA:true", "keyUsage=critical,keyCertSign,cRLSign", ...config];
  const flags = extensions.map((line) => `-addext "${line}"`).join(" ");
  await sandbox.ok(
    `openssl req -x509 -newkey ${key} -nodes -days 30 -subj "/CN=${name}" -keyout ${name}.key -out ${name}.crt ${flags}`,
  );
}

const CLIENT = "extendedKeyUsage=clientAuth";
const SERVER = "extendedKeyUsage=serverAuth";

beforeAll(async () => {
  sandbox = await CaSandbox.create();
  await sandbox.ok("bridge-ca init --name ours --out ours/");
  await makeForeignCa("theirs");
  await sandbox.ok("bridge-ca cross-sign --signer-ca ours/ca.crt --target-ca theirs.crt --out theirs-client.crt");
  await sandbox.ok(
    `bridge-ca cross-sign --signer-ca ours/ca.crt --target-ca theirs.crt --out theirs-server.crt \
      --usage server --permit-dns bridge.example.com --permit-ip 10.0.0.0/8 --permit-ip 2001:db8::/32`,
  );
  await sandbox.ok("bridge-ca bundle --ca ours/ca.crt --cross-signed theirs-client.crt --out client-bundle.crt");
  await sandbox.ok("bridge-ca bundle --ca ours/ca.crt --cross-signed theirs-server.crt --out server-bundle.crt");
});

afterAll(() => sandbox[Symbol.asyncDispose]());

/** Whether both exit with 0, or neither does; with the output of bridge-ca. */
async function judged(cert: string, usage: "client" | "server", bundle: string, more = "") {
  const ours = await sandbox.sh(`bridge-ca verify --cert ${cert} --bundle ${bundle} --usage ${usage}`);
  const openssl = await sandbox.sh(
    `openssl verify -purpose ssl${usage} -auth_level 2 ${more} -CAfile ${bundle} ${cert}`,
  );
  expect([ours.code === 0, ours.stderr]).toEqual([openssl.code === 0, ours.stderr]);
  return ours;
}

describe("a CA that is cross-signed for clients", () => {
  it.each([
    ["an id of its own trust domain", [CLIENT, "subjectAltName=URI:spiffe://theirs/client/a"]],
    ["no id at all", [CLIENT]],
    ["a DNS name, by which no client is known", [CLIENT, "subjectAltName=DNS:a.example"]],
  ])("admits a client with %s", async (_, ext) => {
    await mint("leaf", "theirs", ext);
    expect((await judged("leaf.crt", "client", "client-bundle.crt")).code).toBe(0);
  });

  it.each([
    [
      "an id of ours",
      [CLIENT, "subjectAltName=URI:spiffe://ours/client/admin"],
      "spiffe://ours/client/admin: excluded",
    ],
    ["an id below ours", [CLIENT, "subjectAltName=URI:spiffe://x.ours/client/admin"], "excluded"],
    ["an id of a third project", [CLIENT, "subjectAltName=URI:spiffe://others/client/a"], "not permitted"],
    [
      "an id of ours and one of its own",
      [CLIENT, "subjectAltName=URI:spiffe://theirs/client/a,URI:spiffe://ours/client/b"],
      "spiffe://ours/client/b: excluded",
    ],
    ["the name of a sidecar of ours", [CLIENT, "subjectAltName=DNS:x.agents.session.ours"], "excluded"],
    ["a mailbox", [CLIENT, "subjectAltName=email:root@ours.example"], "not permitted"],
  ])("admits no client with %s", async (_, ext, why) => {
    await mint("leaf", "theirs", ext);
    const { code, stderr } = await judged("leaf.crt", "client", "client-bundle.crt");
    expect([code, stderr]).toEqual([4, expect.stringContaining(`"theirs" may not certify`)]);
    expect(stderr).toContain(why);
  });

  it("certifies no server", async () => {
    await mint("leaf", "theirs", [SERVER, "subjectAltName=DNS:a.example"]);
    expect((await judged("leaf.crt", "server", "client-bundle.crt")).stderr).toContain('"theirs" is not for servers');
  });

  it("certifies no CA", async () => {
    const ca = ["basicConstraints=critical,CA:true", "keyUsage=critical,keyCertSign", "subjectKeyIdentifier=hash"];
    await mint("below", "theirs", ca);
    await mint("leaf", "below", [CLIENT]);
    await sandbox.ok("cat leaf.crt below.crt > chain.crt");
    const { stderr, code } = await judged("chain.crt", "client", "client-bundle.crt", "-untrusted below.crt");
    expect([code, stderr]).toEqual([4, expect.stringContaining('"theirs" allows 0 CAs below it, but there are 1')]);
  });
});

describe("a CA that is cross-signed for servers", () => {
  it.each([
    ["the permitted name", "DNS:bridge.example.com"],
    ["a name below it", "DNS:a.bridge.example.com"],
    ["permitted addresses", "DNS:bridge.example.com,IP:10.1.2.3,IP:2001:db8::1"],
  ])("certifies %s", async (_, names) => {
    await mint("leaf", "theirs", [SERVER, `subjectAltName=${names}`], "/CN=bridge");
    expect((await judged("leaf.crt", "server", "server-bundle.crt")).code).toBe(0);
  });

  it.each([
    ["another name", "DNS:example.com", "example.com: not permitted"],
    ["a name with the same ending", "DNS:evilbridge.example.com", "not permitted"],
    ["another address", "DNS:bridge.example.com,IP:11.1.2.3", "11.1.2.3: not permitted"],
    ["another IPv6 address", "IP:2001:db9::1", "2001:db9::1: not permitted"],
    ["an id", "DNS:bridge.example.com,URI:spiffe://theirs/client/a", "spiffe://theirs/client/a: not permitted"],
    ["an id of ours", "DNS:bridge.example.com,URI:spiffe://ours/client/a", "excluded"],
    ["a mailbox", "DNS:bridge.example.com,email:a@bridge.example.com", "not permitted"],
  ])("does not certify %s", async (_, names, why) => {
    await mint("leaf", "theirs", [SERVER, `subjectAltName=${names}`], "/CN=bridge");
    const { code, stderr } = await judged("leaf.crt", "server", "server-bundle.crt");
    expect([code, stderr]).toEqual([4, expect.stringContaining(why)]);
  });

  it("certifies no host by a common name alone", async () => {
    await mint("leaf", "theirs", [SERVER], "/CN=www.example.com");
    expect((await judged("leaf.crt", "server", "server-bundle.crt")).stderr).toContain(
      "www.example.com: not permitted",
    );
  });

  it("admits no client", async () => {
    await mint("leaf", "theirs", [CLIENT, "subjectAltName=DNS:bridge.example.com"], "/CN=bridge");
    expect((await judged("leaf.crt", "client", "server-bundle.crt")).stderr).toContain('"theirs" is not for clients');
  });
});

it("a CA that is cross-signed without permitted addresses certifies no address", async () => {
  await sandbox.ok(`bridge-ca cross-sign --signer-ca ours/ca.crt --target-ca theirs.crt --out names-only.crt \
      --usage server --permit-dns bridge.example.com
    bridge-ca bundle --ca ours/ca.crt --cross-signed names-only.crt --out names-only-bundle.crt`);
  for (const address of ["192.168.1.10", "::1"]) {
    await mint("leaf", "theirs", [SERVER, `subjectAltName=DNS:bridge.example.com,IP:${address}`], "/CN=bridge");
    const { stderr } = await judged("leaf.crt", "server", "names-only-bundle.crt");
    expect(stderr).toContain(`${address}: excluded`);
  }
});

describe("other failures in a chain:", () => {
  it("a self-signed CA that a caller sends does not bypass the constraints of the one in the bundle", async () => {
    await mint("leaf", "theirs", [CLIENT, "subjectAltName=URI:spiffe://ours/client/admin"]);
    await sandbox.ok("cat leaf.crt theirs.crt > chain.crt");
    const { code } = await judged("chain.crt", "client", "client-bundle.crt", "-untrusted theirs.crt");
    expect(code).toBe(4);
  });

  it.each([
    ["an RSA key of 1024 bits", "rsa:1024", "an RSA key of 1024 bits"],
    ["a key on an uncommon curve", "ec -pkeyopt ec_paramgen_curve:secp256k1", "secp256k1"],
  ])("cross-sign refuses a CA with %s", async (_, key, why) => {
    await makeForeignCa("weak", [], key);
    const ran = await sandbox.sh("bridge-ca cross-sign --signer-ca ours/ca.crt --target-ca weak.crt --out weak-x.crt");
    expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining(why)]);
  });

  it("verify refuses a chain with a SHA-1 signature, as openssl does at level 2", async () => {
    await mint("leaf", "theirs", [CLIENT]);
    await sandbox.ok(
      "openssl x509 -req -sha1 -in leaf.csr -CA theirs.crt -CAkey theirs.key -extfile leaf.ext -out leaf.crt",
    );
    const ran = await judged("leaf.crt", "client", "client-bundle.crt");
    expect(ran.stderr).toContain("is signed with a weak or unknown algorithm (SHA-1, for example)");
  });

  it("verify refuses an unknown critical extension", async () => {
    await mint("leaf", "theirs", [CLIENT, "1.2.3.4=critical,ASN1:NULL"]);
    expect((await judged("leaf.crt", "client", "client-bundle.crt")).stderr).toContain(
      "unknown critical extension (1.2.3.4)",
    );
  });

  it("verify names the CA whose key did not sign", async () => {
    await makeForeignCa("theirs-again");
    await sandbox.ok(`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -subj /CN=theirs \
      -addext "subjectKeyIdentifier=none" -keyout other.key -out other.crt 2>/dev/null`);
    await mint("leaf", "other", [CLIENT]);
    expect((await judged("leaf.crt", "client", "client-bundle.crt")).stderr).toContain(
      "was not signed by the key of the CA",
    );
  });
});

describe("revocation", () => {
  it("of a leaf and of a cross-signature is detected by openssl and by verify", async () => {
    await sandbox.ok(
      "bridge-ca issue --type client --cn gone --ca ours/ca.crt --out gone --crl-url http://crl.example/ours.crl",
    );
    await mint("leaf", "theirs", [CLIENT]);
    await sandbox.ok(
      "bridge-ca crl --ca ours/ca.crt --out empty.pem; openssl crl -in empty.pem -noout -CAfile ours/ca.crt",
    );
    await sandbox.ok("bridge-ca verify --cert gone.crt --bundle client-bundle.crt --crl empty.pem");
    await sandbox.ok(`bridge-ca revoke --cert gone.crt --ca ours/ca.crt --reason key-compromise
      bridge-ca revoke --cert theirs-client.crt --ca ours/ca.crt
      bridge-ca crl --ca ours/ca.crt --out crl.pem`);
    const [number, earlier] = await Promise.all(
      ["crl.pem", "empty.pem"].map(async (file) =>
        Number((await sandbox.ok(`openssl crl -in ${file} -noout -crlnumber`)).split("=")[1]),
      ),
    );
    expect(number).toBeGreaterThan(earlier ?? Number.POSITIVE_INFINITY);
    expect(await sandbox.ok("openssl crl -in crl.pem -noout -text")).toContain("Key Compromise");
    expect(await sandbox.ok("openssl x509 -in gone.crt -noout -ext crlDistributionPoints")).toContain(
      "http://crl.example/ours.crl",
    );
    const openssl = "openssl verify -crl_check -CRLfile crl.pem -CAfile client-bundle.crt gone.crt";
    expect((await sandbox.sh(openssl)).stderr).toContain("certificate revoked");
    const ours = await sandbox.sh("bridge-ca verify --cert gone.crt --bundle client-bundle.crt --crl crl.pem");
    expect([ours.code, ours.stderr]).toEqual([4, expect.stringContaining('"gone" is revoked')]);
    await sandbox.ok("bridge-ca crl --ca ours/ca.crt --out crl.pem");
    const over = await sandbox.sh("bridge-ca verify --cert leaf.crt --bundle client-bundle.crt --crl crl.pem");
    expect([over.code, over.stderr]).toEqual([4, expect.stringContaining('"theirs" is revoked')]);
  });
});

it.each(["ecdsa-p384", "rsa-4096"])(
  "certificates and lists of a CA with an %s key pass openssl's strict checks",
  async (type) => {
    await sandbox.ok(`bridge-ca init --name ${type} --key-type ${type} --out ${type}/
    bridge-ca issue --type server --cn a.example --key-type ${type} --ca ${type}/ca.crt --out ${type}/server
    bridge-ca issue --type sidecar --cn s-1 --namespace agents --ca ${type}/ca.crt --out ${type}/sidecar/
    bridge-ca revoke --cert ${type}/server.crt --ca ${type}/ca.crt
    bridge-ca crl --out ${type}/crl.pem --ca ${type}/ca.crt
    openssl crl -in ${type}/crl.pem -noout -CAfile ${type}/ca.crt -verify`);
    for (const leaf of ["server.crt", "sidecar/tls.crt"]) {
      await sandbox.ok(`openssl verify -x509_strict -purpose sslserver -CAfile ${type}/ca.crt ${type}/${leaf}`);
    }
    const names = await sandbox.ok(`openssl x509 -in ${type}/sidecar/tls.crt -noout -ext subjectAltName`);
    const label = (await sandbox.ok("printf s-1 | sha256sum")).slice(0, 32);
    expect(names).toContain(`URI:spiffe://${type}/ns/agents/session/s-1, DNS:${label}.agents.session.${type}`);
    await sandbox.ok(`openssl pkey -in ${type}/ca.key -passin env:BRIDGE_CA_PASSPHRASE -noout`);
  },
);
