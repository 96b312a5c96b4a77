export const help = `Threads: durable conversations between agents and people, and wake-ups with receipts.

Usage: threads [serve]            serve; with nothing configured it owns a private PostgreSQL
       threads token --agent A    print a token of the local issuer
       threads migrate            bring the database's schema up to this version
       threads doctor             look at the database, the keys and the runtimes

serve:
  --listen HOST:PORT          where agents and gt threads call (127.0.0.1:9448)
  --health-listen HOST:PORT   /livez, /readyz, /metrics (127.0.0.1:9449)
  --database-url URL          a PostgreSQL of 15 or newer; default: an own one in the state folder
  --migrate-url URL           a direct connection for migrate, past a pooler (the database URL)
  --state-dir DIR             keys, and the own PostgreSQL (~/.local/state/gastown-threads; root with an own
                              PostgreSQL: /var/lib/gastown-threads)
  --postgres WHICH            npm, system, or a folder with initdb and postgres; default: the first there is
  --runtime local|none        where idle agents are: sidecars of this machine, or nowhere (local)
  --workspace NAME            what the local issuer may say (default)
  --log-level LEVEL           debug, info, warn, error (info)

token:
  --agent A                   the agent's address
  --role R                    its role (worker); operator: a person's token, 5 minutes at most
  --session S                 its session; default: the one of the sidecar that has this address now
  --ttl D                     how long it counts, at most 1 hour (1h)
  --file F                    write it there (0600), and replace it at half of its life until stopped

Each flag can be given by its environment variable: GT_THREADS_LISTEN, GT_THREADS_DATABASE_URL, …

Exit codes: 0 done; 1 a bug; 2 usage or configuration; 3 the database cannot be reached, is older than 15 or needs
migrate, or there is no PostgreSQL; 4 a key or certificate cannot be used; 5 the own database's folder is in use, out
of its user's reach, or of another major version.

Examples:
  threads
  threads --database-url postgres://threads@db/threads
  threads token --agent gastown/reviewer --role reviewer --file /run/user/1000/reviewer.token
`;
