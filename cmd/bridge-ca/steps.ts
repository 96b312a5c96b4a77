/** The commands from an empty folder to the first call, ready to copy. */
export const STEPS = `The steps for a bridge and a consumer, each with its own folder and CA. Both begin with a CA and certificates:

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

The bridge trusts the client certificates that the consumer's CA signs, and nothing else that it signs:

  cd ../ai-agent-bridge/
  bridge-ca cross-sign --signer-ca certs/ca.crt --signer-key certs/ca.key \\
      --target-ca ../prd-manager-control-plane/certs/ca.crt \\
      --out certs/prd-manager-ca-cross-signed.crt
  bridge-ca bundle --ca certs/ca.crt \\
      --cross-signed certs/prd-manager-ca-cross-signed.crt \\
      --out certs/ca-bundle.crt

The consumer trusts the server certificates that the bridge's CA signs, and nothing else that it signs:

  cd ../prd-manager-control-plane/
  bridge-ca cross-sign --signer-ca certs/ca.crt --signer-key certs/ca.key \\
      --target-ca ../ai-agent-bridge/certs/ca.crt --usage server \\
      --permit-dns bridge.example.com --permit-ip 192.168.1.10 \\
      --out certs/bridge-ca-cross-signed.crt
  bridge-ca bundle --ca certs/ca.crt \\
      --cross-signed certs/bridge-ca-cross-signed.crt --out certs/ca-bundle.crt
  bridge-ca verify --cert ../ai-agent-bridge/certs/bridge.crt \\
      --bundle certs/ca-bundle.crt

For the first call, the bridge needs the consumer's public token key. bridge --help shows a bridge.yaml that names
the bridge's files:

  cd ../ai-agent-bridge/
  cp ../prd-manager-control-plane/certs/jwt-signing.pub \\
      certs/prd-manager-jwt.pub
  bridge --config bridge.yaml

The consumer presents its certificate, and sends with each call a token that it signs with its token key:

  cd ../prd-manager-control-plane/
  gt agents --server bridge.example.com:9445 --ca certs/ca-bundle.crt \\
      --cert certs/client.crt --key certs/client.key \\
      --jwt-key certs/jwt-signing.key --jwt-issuer prd-manager \\
      --project prd-manager`;
