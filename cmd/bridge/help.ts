export const help = `Runs coding agents on this host as sessions, for control planes that call it over mutual TLS with a token in every call.

Usage:
  bridge --config FILE          serve what FILE says, until SIGTERM
  bridge check --config FILE    say what is wrong with FILE and with everything that it names, line by line

Flags:
  -c, --config FILE     the configuration                                      GT_BRIDGE_CONFIG
      --state-dir DIR   what has to survive a restart: which terminal sessions  GT_BRIDGE_STATE_DIR
                          run. Default: server.state_dir of FILE, else a folder of
                          its own for each FILE below ~/.local/state/gastown-bridge
      --help, --version

Examples:
  bridge check --config /etc/gastown-bridge/bridge.yaml
  bridge --config /etc/gastown-bridge/bridge.yaml
  GT_BRIDGE_CONFIG=bridge.yaml bridge

A configuration that serves two consumers; certs/ is what bridge-ca makes (docs/bridge.md):

  server:
    listen: "0.0.0.0:9445"        # default 127.0.0.1:9445
  tls:
    ca_bundle: "certs/ca-bundle.crt"
    cert: "certs/bridge.crt"
    key: "certs/bridge.key"
  auth:
    jwt_public_keys:
      - issuer: "prd-manager"
        key_path: "certs/prd-manager-jwt.pub"
      - issuer: "ndara-orchestrator"
        key_path: "certs/ndara-jwt.pub"
        projects: ["ndara"]       # default: any
  providers:
    claude:
      binary: "claude"
    demo: {}                      # needs no account
  allowed_paths:
    - "/home/*/repos"             # * is one segment

Relative paths begin at the folder of the configuration. Files that it names are followed: a certificate, CA, revocation
list or token key that is replaced counts at once. The configuration itself is read at the start.

Exit codes: 0 stopped, or nothing wrong · 1 the address or the state folder is in use, or a bug · 2 the command line or the
configuration is wrong.
`;
