export const help = `Runs coding agents on this host as sessions, for control planes that call it over mutual TLS, with a token in every call.

Usage:
  bridge --config FILE          serve according to FILE, until SIGTERM
  bridge check --config FILE    report errors in FILE and in the files that it names, by line

Flags:
  -c, --config FILE     the configuration                                      GT_BRIDGE_CONFIG
      --state-dir DIR   state that survives a restart: the running terminal     GT_BRIDGE_STATE_DIR
                          sessions. Default: server.state_dir in FILE, otherwise a
                          folder for each FILE below ~/.local/state/gastown-bridge
      --help, --version

Examples:
  bridge check --config /etc/gastown-bridge/bridge.yaml
  bridge --config /etc/gastown-bridge/bridge.yaml
  GT_BRIDGE_CONFIG=bridge.yaml bridge

A configuration for two consumers; bridge-ca creates the files in certs/ (docs/bridge.md):

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
        projects: ["prd-manager"] # without it: any project, also those of others
      - issuer: "ndara-orchestrator"
        key_path: "certs/ndara-jwt.pub"
        projects: ["ndara"]
  providers:
    claude:
      binary: "claude"
    demo: {}                      # needs no account
  allowed_paths:
    - "/home/*/repos"             # * matches one component

Paths are relative to the folder of the configuration. The files that it names are watched: a replaced certificate, CA,
revocation list or token key takes effect at once. The configuration itself is read only at start.

Exit codes: 0 stopped, or no error found · 1 the address or the state folder is in use, or a bug · 2 the command line or the
configuration is wrong.
`;
