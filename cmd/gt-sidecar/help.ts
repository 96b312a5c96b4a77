import { profileChoice } from "../../internal/agents/known-programs.ts";

export const help = `Runs a coding agent in tmux and serves its terminal: its screen, its state, and messages with receipts.

Usage:
  gt-sidecar [flags] [-- command args…]      run the agent and serve it
  gt-sidecar supervise [flags] [-- command]  run only the agent; the serving half runs elsewhere
  gt-sidecar serve [flags] [-- command]      serve an agent that runs with the same --state-dir

Agent:
  --agent NAME             ${`${profileChoice} (claude)`.padEnd(57)}GT_AGENT
  -- command args…         the agent's program, run without a shell                 GT_AGENT_COMMAND
  --workdir DIR            where it works (the current folder)                      GT_AGENT_WORKDIR
  --restart WHEN           always, on-failure or never (on-failure)                 GT_AGENT_RESTART
  --linger TIME            keep serving for this long after it ends (0)             GT_SIDECAR_LINGER
  --stall-after TIME       when busy without a sign of life counts as stalled (10m)
  --cols N --rows N        size of its terminal (160 × 50)
  --history-limit N        lines kept above the screen (20000)
  --session-id ID          the session's id (random)                                GT_SESSION_ID
  --project NAME           the session's project (default)                          GT_PROJECT
  --address ADDRESS        its name for gt (the host's name)                        GT_AGENT_ADDRESS

Serving:
  --listen HOST:PORT       RPC (127.0.0.1:9090; port 0: any free one)               GT_SIDECAR_LISTEN
                             or unix:PATH, a socket in a folder of mode 0700 (no TLS)
  --health-listen H:P      /livez, /readyz, /metrics (127.0.0.1:9091), or unix:PATH  GT_SIDECAR_HEALTH_LISTEN
  --tls-dir DIR            tls.crt, tls.key, ca.crt, optional crl.pem               GT_TLS_DIR
  --allow-client RULE      spiffe://domain/path=read|nudge|operate, may repeat      GT_ALLOW_CLIENTS
                             (CA-SHA256/CN=… for a certificate without such a name)
  --jwt-key ISSUER=FILE    accept this issuer's tokens for roles; public Ed25519 key, may repeat   GT_JWT_KEYS
  --jwt-audience NAME      the audience of those tokens (gt-sidecar)                GT_JWT_AUDIENCE
  --crl-policy WORD        if-present: a CA without a revocation list has revoked nothing;  GT_CRL_POLICY
                             require: callers of such a CA are refused (if-present)
  --audit-log FILE         one JSON line for each decision about a caller; default: stderr  GT_AUDIT_LOG
                             with --jwt-key, otherwise none
  --insecure-plaintext     serve addresses other than loopback without TLS          GT_SIDECAR_INSECURE
  --allow-local-user USER  a user of this machine (name, uid or any) that a plaintext port on loopback serves
                             beside the sidecar's own and root, may repeat          GT_ALLOW_LOCAL_USERS
  --allow-host NAME        a host name that plaintext callers may use, may repeat
  --raw-bytes N            bytes of raw output kept for watchers that reconnect (8 MiB)
  --event-buffer N         events kept for readers that reconnect (10000)
  --event-bytes N          the most bytes that those events may use (16 MiB)
  --redact-pattern RE2     a secret in events and logs, may repeat; replaces the built-in patterns (keys, tokens,
                           passwords); "" turns redaction off

Other:
  --state-dir DIR          sockets, journal (XDG_RUNTIME_DIR/gt-sidecar or a private folder)  GT_SIDECAR_STATE_DIR
  --grace TIME             time from the request to stop until the agent is killed (10s)
  --log-level LEVEL        debug, info, warn, error or silent (info)
  --help, --version

Times: 300ms, 1.5s, 10m. Exit code: the agent's (128+n for a signal); 2 for bad flags,
1 when a port or the state folder cannot be used, 127 when the agent's program is missing.

Examples:
  gt-sidecar --agent demo                            the demo agent: needs no account, does no work
  gt-sidecar                                         Claude Code in this folder, served on 127.0.0.1:9090
  gt-sidecar --agent codex --workdir ~/src/shop
  gt-sidecar --agent generic -- python3 -i           any program with a prompt
  gt-sidecar --listen unix:$HOME/.gt/agent.sock      only for programs of this user; ~/.gt has mode 0700
  gt-sidecar --listen 0.0.0.0:9090 --tls-dir /etc/gt/tls
  gt-sidecar --listen 0.0.0.0:9090 --tls-dir /etc/gt/tls --jwt-key shop=/etc/gt/shop.pub --crl-policy require
`;
