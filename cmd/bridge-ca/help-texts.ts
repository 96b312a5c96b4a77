import type { CommandName } from "./flags.ts";

const PASSPHRASE = `bridge-ca asks for the passphrase of the CA's key, or takes it from
      --passphrase-file FILE   the first line of a file
      --passphrase-fd N        the first line of an open descriptor
      BRIDGE_CA_PASSPHRASE     the environment
`;

const CA = `      --ca FILE         the CA's certificate (certs/ca.crt)
      --ca-key FILE     its key (beside the certificate, with .key)
`;

/** `bridge-ca --help`. */
export const overview = `bridge-ca manages a project's certificate authority and its certificates, trust bundles and token keys.

Usage:
  bridge-ca init --name NAME              create a CA
  bridge-ca issue --type TYPE --cn NAME   create a key and a certificate: server, client or sidecar
  bridge-ca cross-sign --target-ca FILE   trust another project's CA, within limits
  bridge-ca bundle --out FILE             write the trusted CAs
  bridge-ca jwt-keygen --out PREFIX       create an Ed25519 key pair for tokens
  bridge-ca renew --cert FILE             replace a certificate and its key
  bridge-ca verify --cert FILE            check whether a certificate is trusted, and if not, why
  bridge-ca revoke --cert FILE            revoke a certificate
  bridge-ca crl --out FILE                write the revocation list
  bridge-ca inspect FILE…                 show the contents of files
  bridge-ca help COMMAND                  more about a command

bridge-ca asks for the passphrase of the CA's key, or takes it from --passphrase-file, --passphrase-fd or BRIDGE_CA_PASSPHRASE.

The steps for a bridge and a consumer, each with its own folder and CA. Both begin with a CA and certificates:

  cd ai-agent-bridge/
  bridge-ca init --name "ai-agent-bridge" --out certs/
  bridge-ca issue --type server --cn "bridge.example.com" \\
      --san "bridge.example.com,192.168.1.10" \\
      --ca certs/ca.crt --ca-key certs/ca.key --out certs/bridge

  cd ../prd-manager-control-plane/
  bridge-ca init --name "prd-manager" --out certs/
  bridge-ca issue --type client --cn "prd-manager" \\
      --ca certs/ca.crt --ca-key certs/ca.key --out certs/client
  bridge-ca jwt-keygen --out certs/jwt-signing

The bridge trusts the consumer's clients, and nothing else of the consumer's CA:

  cd ../ai-agent-bridge/
  bridge-ca cross-sign --signer-ca certs/ca.crt --signer-key certs/ca.key \\
      --target-ca ../prd-manager-control-plane/certs/ca.crt \\
      --out certs/prd-manager-ca-cross-signed.crt
  bridge-ca bundle --ca certs/ca.crt \\
      --cross-signed certs/prd-manager-ca-cross-signed.crt --out certs/ca-bundle.crt

The consumer trusts the bridge's servers, and nothing else of the bridge's CA:

  cd ../prd-manager-control-plane/
  bridge-ca cross-sign --signer-ca certs/ca.crt --signer-key certs/ca.key \\
      --target-ca ../ai-agent-bridge/certs/ca.crt --usage server \\
      --permit-dns bridge.example.com --permit-ip 192.168.1.10 \\
      --out certs/bridge-ca-cross-signed.crt
  bridge-ca bundle --ca certs/ca.crt \\
      --cross-signed certs/bridge-ca-cross-signed.crt --out certs/ca-bundle.crt
  bridge-ca verify --cert ../ai-agent-bridge/certs/bridge.crt --bundle certs/ca-bundle.crt

The first call. The bridge needs the public token key; bridge --help shows a bridge.yaml that names these files:

  cd ../ai-agent-bridge/
  cp ../prd-manager-control-plane/certs/jwt-signing.pub certs/prd-manager-jwt.pub
  bridge --config bridge.yaml

The consumer sends its certificate, and with each call a token signed by its key:

  cd ../prd-manager-control-plane/
  gt agents --server bridge.example.com:9445 --ca certs/ca-bundle.crt \\
      --cert certs/client.crt --key certs/client.key \\
      --jwt-key certs/jwt-signing.key --jwt-issuer prd-manager --project prd-manager

Exit codes: 0 done; 2 wrong usage, or a file with the wrong content; 3 a file is missing, already exists, or
cannot be read or written; 4 refused or not trusted; 5 the CA's key cannot be used: wrong passphrase, or readable by others;
6 another process is writing to the folder, try again; 1 a bug.
`;

/** `bridge-ca COMMAND --help`. */
export const helpTexts: Readonly<Record<CommandName, string>> = {
  init: `Creates a CA: DIR/ca.crt, DIR/ca.key (encrypted) and DIR/ca.state.json (what it has issued and revoked).

Usage: bridge-ca init --name NAME [flags]

      --name NAME            the CA's common name
      --out DIR              the folder (certs/); created with mode 0700 if it is missing
      --trust-domain DOMAIN  the domain of its ids, spiffe://DOMAIN/… (the name, if it is a valid domain)
      --key-type TYPE        ecdsa-p384 (the default) or rsa-4096
      --days N               how long it is valid (3650)

${PASSPHRASE}
Examples:
  bridge-ca init --name "ai-agent-bridge" --out certs/
  bridge-ca init --name "Acme Bridge" --trust-domain bridge.acme.example --out acme/
`,
  issue: `Creates a key and a certificate.

Usage: bridge-ca issue --type server|client|sidecar --cn NAME --out PREFIX [flags]

      --type TYPE       server: a host; client: a caller; sidecar: the gt-sidecar of a session
      --cn NAME         the host, the client's name, the session's id
      --san NAMES       more DNS names and IP addresses, separated by commas; may repeat
      --uri URI         your own id; for a client it replaces spiffe://DOMAIN/client/NAME
      --namespace NS    the Kubernetes namespace of a sidecar (default)
      --trust-domain D  the trust domain, instead of the CA's
      --crl-url URL     where the CA's revocation list is served
      --days N          how long it is valid (90)
      --key-type TYPE   ecdsa-p384 (the default) or rsa-4096
      --out PREFIX      PREFIX.crt and PREFIX.key; if it ends in a slash, a folder with tls.crt, tls.key and ca.crt
      --force           replace existing files
${CA}
${PASSPHRASE}
Examples:
  bridge-ca issue --type server --cn "bridge.example.com" \\
      --san "bridge.example.com,192.168.1.10" \\
      --ca certs/ca.crt --ca-key certs/ca.key --out certs/bridge
  bridge-ca issue --type client --cn "prd-manager" \\
      --ca certs/ca.crt --ca-key certs/ca.key --out certs/prd-manager-client
  bridge-ca issue --type sidecar --cn session-1 --namespace agents --san 127.0.0.1 --out tls/session-1/
`,
  "cross-sign": `Certifies another project's CA, so that its certificates lead to yours. The certificate itself limits what that CA may
certify, and every TLS library checks this: no CAs below it, one usage, and no name in your own trust domain.

Usage: bridge-ca cross-sign --target-ca FILE --out FILE [flags]

      --target-ca FILE       the other CA's certificate
      --usage client         it may certify only clients (the default), with ids of its own trust domain
      --usage server         it may certify only servers, with only these names:
      --permit-dns NAME        this host and all names below it; may repeat
      --permit-ip ADDRESS      this address or network (10.0.0.0/8); may repeat. Without it, no address
      --trust-domain DOMAIN  the trust domain of a client CA whose certificate does not name it
      --crl-url URL          where your revocation list is served
      --days N               how long it is valid (365), at most as long as both CAs
      --out FILE             the certificate
      --force                replace an existing file
      --signer-ca FILE       your CA's certificate (certs/ca.crt)
      --signer-key FILE      its key (beside the certificate, with .key)

${PASSPHRASE}
Examples:
  bridge-ca cross-sign --signer-ca certs/ca.crt --signer-key certs/ca.key \\
      --target-ca ../prd-manager-control-plane/certs/ca.crt --out certs/prd-manager-ca-cross-signed.crt
  bridge-ca cross-sign --target-ca ../ai-agent-bridge/certs/ca.crt --usage server \\
      --permit-dns bridge.example.com --permit-ip 192.168.1.10 --out certs/bridge-ca-cross-signed.crt
`,
  bundle: `Writes the trusted CAs: your own, and those that it has cross-signed. A self-signed CA of another project
is refused, because in a bundle it would be trusted without limits.

Usage: bridge-ca bundle --out FILE [flags]

      --ca FILE            your CA's certificate (certs/ca.crt)
      --previous-ca FILE   your earlier CA, while it is being replaced; may repeat
      --cross-signed FILE  a certificate that cross-sign wrote; may repeat
      --out FILE           the bundle
      --force              replace an existing file

Example:
  bridge-ca bundle --ca certs/ca.crt --cross-signed certs/prd-manager-ca-cross-signed.crt --out certs/ca-bundle.crt
`,
  "jwt-keygen": `Creates an Ed25519 key pair for tokens: PREFIX.key signs them, PREFIX.pub verifies them.

Usage: bridge-ca jwt-keygen --out PREFIX

Example:
  bridge-ca jwt-keygen --out certs/jwt-signing
`,
  renew: `Replaces a certificate by one with the same names and a later expiry, and its key by a new one. Suitable for cron: it asks
nothing if the passphrase comes from a file or the environment, and running it again after a crash completes the renewal.

Usage: bridge-ca renew --cert FILE [flags]

      --cert FILE      the certificate
      --key FILE       its key (beside the certificate, with .key); written first, so that programs that watch
                       the two files keep the old pair until both are replaced
      --within TIME    only if it expires within this time (30d, 12h), or its key does not match
      --keep-key       keep the same key
      --key-type TYPE  the type of the new key: ecdsa-p384 or rsa-4096 (as before)
      --days N         how long it is valid (as long as the old one)
      --from-ca FILE   the CA that issued it, if another one of your CAs renews it
${CA}
${PASSPHRASE}
Exit codes: 0 renewed, or not due (stdout says which); 3 a file cannot be read or written; 4 the certificate is revoked or of
another CA; 5 the CA's key cannot be used; 6 another process is writing, try again. After any code other than 0 the old pair
is in place.

Examples:
  bridge-ca renew --cert certs/bridge.crt --ca certs/ca.crt --ca-key certs/ca.key
  bridge-ca renew --cert certs/bridge.crt --within 30d --passphrase-file ~/.bridge-ca-passphrase
`,
  verify: `Checks whether a certificate leads to a CA of a bundle, and if not, reports which link fails and why. Checks signatures,
dates, usage, path length, name constraints, keys and algorithms, and revocation if a list is given.

Usage: bridge-ca verify --cert FILE --bundle FILE [flags]

      --cert FILE     the certificate, and any intermediate ones in the same file
      --bundle FILE   the CAs
      --crl FILE      revocation lists; may repeat
      --usage USAGE   check it as a server or client; without this flag, for its own usages

Exit codes: 0 trusted; 4 not trusted.

Example:
  bridge-ca verify --cert certs/bridge.crt --bundle certs/ca-bundle.crt
`,
  revoke: `Revokes a certificate. The revocation takes effect with the next list: bridge-ca crl. A cross-signature can be revoked too,
and with it every chain through it.

Usage: bridge-ca revoke --cert FILE [flags]

      --cert FILE       the certificate
      --reason REASON   unspecified (the default), key-compromise, ca-compromise, affiliation-changed, superseded,
                        cessation-of-operation or privilege-withdrawn
${CA}
Example:
  bridge-ca revoke --cert certs/prd-manager-client.crt --reason key-compromise
  bridge-ca crl --out certs/crl.pem
`,
  crl: `Writes the CA's revocation list in PEM. An earlier list of the same CA is replaced.

Usage: bridge-ca crl --out FILE [flags]

      --out FILE   the list
      --days N     days until the next list is due (30)
      --force      replace a file that is not a list of this CA
${CA}
${PASSPHRASE}
Example:
  bridge-ca crl --out certs/crl.pem --ca certs/ca.crt --ca-key certs/ca.key
`,
  inspect: `Shows the contents of files: certificates, bundles, revocation lists, keys. Secrets are not shown.

Usage: bridge-ca inspect FILE…

Example:
  bridge-ca inspect certs/ca.crt certs/bridge.crt
`,
};
