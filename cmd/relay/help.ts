export const help = `Carries work between sessions over NATS: a message becomes a turn of an agent, its answer becomes messages.

Usage: relay [serve] [flags]
       relay check [flags]
       relay send --session S --role R [flags] TASK
       relay results --session S [--role R] [flags]
       relay status [--json]
       relay dial --server URL --session S --role R --agent-id A -- COMMAND
       relay dead ls | show N | requeue N | drop N

Commands:
  serve     serves agents at ws://HOST:8080/acp/{session_id}/{role}?agent_id=… (default)
  check     says what is wrong with flags, environment and file, by line
  send      publishes work; --wait prints its results until the last one
  results   prints results as JSON lines
  status    asks every relay for its connections
  dial      runs an ACP agent that speaks stdio and connects it to a relay, again whenever that ends
  dead      shows work that was rejected, and gives it back to its lane or drops it

Flags of all commands, each over its environment variable over the file:
  --config FILE             the configuration (relay.yaml of this folder, if it is there)
  --nats-url URL            NATS, with JetStream (OUROCODUS_NATS_URL; nats://127.0.0.1:4222)
  --stream-prefix NAME      what the names of the streams begin with (RELAY)

Flags of serve:
  --listen HOST:PORT        for agents (127.0.0.1:8080; OUROCODUS_RELAY_PORT sets the port)
  --health-listen HOST:PORT /livez, /readyz, /metrics (127.0.0.1:8081)
  --relay-id NAME           in the first frame (relay_main)
  --ping-interval SECONDS   between pings to an agent (OUROCODUS_PING_INTERVAL; 30)
  --pong-timeout SECONDS    until an agent without a pong is gone (OUROCODUS_PONG_TIMEOUT; 10)
  --max-message-bytes N     of work and of a frame (524288)
  --insecure-plaintext      another address than loopback, without TLS
  --allow-host NAME         a host name that may be in Host and Origin; repeatable
  --log-level LEVEL         debug, info, warn, error, silent (info)

Flags of send and results:
  --id ID                   of the work (default of send: a new one)
  --requirement TEXT        repeatable
  --tool-result TOOL_ID     TASK is the result of this tool
  --continue                goes on with the conversation of the lane
  --wait, --timeout 30m     prints results until the last one
  --follow                  goes on printing results that come

Exit codes: 0 drained · 1 bug, or an address in use · 2 usage or configuration · 3 no such session or message
  4 NATS is not reachable or refuses · 6 a stream has other settings · 7 turns were handed back at the drain's deadline

Examples:
  relay --nats-url nats://127.0.0.1:4222
  relay send --session sess_123 --role coding --wait "Implement authentication" --requirement "use JWT"
  relay results --session sess_123 --follow
`;
