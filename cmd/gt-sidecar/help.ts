import { profileChoice } from "../../internal/agents/known-programs.ts";

export const help = `Runs a coding agent in tmux and serves its terminal: what it shows, its state, messages with receipts.

Usage:
  gt-sidecar [flags] [-- command args…]      run the agent and serve it
  gt-sidecar supervise [flags] [-- command]  run the agent only; the other half runs elsewhere
  gt-sidecar serve [flags] [-- command]      serve an agent that runs with the same --state-dir

Agent:
  --agent NAME             ${`${profileChoice} (claude)`.padEnd(57)}GT_AGENT
  -- command args…         the agent's program, no shell around it                  GT_AGENT_COMMAND
  --workdir DIR            where it works (the current folder)                      GT_AGENT_WORKDIR
  --restart WHEN           always, on-failure or never (on-failure)                 GT_AGENT_RESTART
  --linger TIME            serve on for this long after its end (0)                 GT_SIDECAR_LINGER
  --stall-after TIME       busy without a sign of life for this long (10m)
  --cols N --rows N        size of its terminal (160 × 50)
  --history-limit N        lines kept above the screen (20000)
  --session-id ID          who this is (random)                                     GT_SESSION_ID
  --project NAME           and to what it belongs (default)                         GT_PROJECT
  --address ADDRESS        its name for gt (the host's name)                        GT_AGENT_ADDRESS

Serving:
  --listen HOST:PORT       RPC (127.0.0.1:9090; port 0: any free one)               GT_SIDECAR_LISTEN
                             or unix:PATH, a socket in a folder of mode 0700 (no TLS)
  --health-listen H:P      /livez, /readyz, /metrics (127.0.0.1:9091), or unix:PATH  GT_SIDECAR_HEALTH_LISTEN
  --tls-dir DIR            tls.crt, tls.key, ca.crt, optional crl.pem               GT_TLS_DIR
  --allow-client RULE      spiffe://domain/path=read|nudge|operate, may repeat      GT_ALLOW_CLIENTS
                             (CA-SHA256/CN=… for a certificate without such a name)
  --jwt-key ISSUER=FILE    whose tokens give roles too; a public Ed25519 key, may repeat   GT_JWT_KEYS
  --jwt-audience NAME      whom those tokens are for (gt-sidecar)                   GT_JWT_AUDIENCE
  --crl-policy WORD        if-present: a CA without a revocation list has revoked nothing;  GT_CRL_POLICY
                             require: its callers are refused (if-present)
  --audit-log FILE         one JSON line for each decision about a caller; stderr where     GT_AUDIT_LOG
                             --jwt-key is given, else none
  --insecure-plaintext     serve other addresses than loopback without TLS          GT_SIDECAR_INSECURE
  --allow-host NAME        a host name that plaintext callers may use, may repeat
  --raw-bytes N            raw output kept for watchers that come back (8 MiB)
  --event-buffer N         events kept for readers that come back (10000), and
  --event-bytes N            at most so many bytes of them (16 MiB)
  --redact-pattern RE2     a secret in events and logs, may repeat; replaces the built-in set (keys, tokens, passwords),
                           "" turns it off

Other:
  --state-dir DIR          sockets, journal (XDG_RUNTIME_DIR/gt-sidecar or a private folder)  GT_SIDECAR_STATE_DIR
  --grace TIME             from the request to stop to the end (10s)
  --log-level LEVEL        debug, info, warn, error or silent (info)
  --help, --version

Times: 300ms, 1.5s, 10m. Exit code: the agent's (128+n for a signal); 2 for bad flags,
1 when a port or the state folder cannot be used, 127 when the agent's program is missing.

Examples:
  gt-sidecar --agent demo                            the demo agent: needs no account, does nothing
  gt-sidecar                                         Claude Code in this folder, served on 127.0.0.1:9090
  gt-sidecar --agent codex --workdir ~/src/shop
  gt-sidecar --agent generic -- python3 -i           any program with a prompt
  gt-sidecar --listen unix:$HOME/.gt/agent.sock      for programs of this user alone; ~/.gt has mode 0700
  gt-sidecar --listen 0.0.0.0:9090 --tls-dir /etc/gt/tls
  gt-sidecar --listen 0.0.0.0:9090 --tls-dir /etc/gt/tls --jwt-key shop=/etc/gt/shop.pub --crl-policy require
`;
