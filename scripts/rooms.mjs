// The rooms under internal/ and what each may import besides "base" and itself. One source for the checker and for the
// drawing in docs/architecture.md.
export const rooms = {
  base: [],
  gen: [],
  cli: [],
  rpcserver: ["gen"],
  tmux: [],
  agents: [],
  eventlog: [],
  pane: ["tmux", "agents", "eventlog"],
  pki: [],
  auth: ["pki"],
  sidecar: ["pane", "tmux", "agents", "auth", "rpcserver", "eventlog", "gen"],
  terminal: ["pane", "tmux", "gen"],
  demo: [],
};
