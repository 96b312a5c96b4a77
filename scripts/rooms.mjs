// The rooms under internal/ and what each may import besides "base" and itself. One source for the checker and for the
// drawing in docs/architecture.md. A room is a folder with code: internal/<room>/ or internal/<floor>/<room>/; "x/*" is
// every room of floor x, and the room x itself.
export const rooms = {
  base: [],
  gen: [],
  cli: [],
  files: [],
  process: [],
  agents: [],
  "agents/programs": ["agents"],
  eventlog: ["files"],
  pki: [],
  "rpc/common": ["gen"],
  "rpc/port": ["rpc/common"],
  "rpc/server": ["rpc/port", "rpc/common", "gen"],
  "rpc/client": ["rpc/common"],
  auth: ["pki", "rpc/*"],
  "tmux/pane": [],
  "tmux/control": ["tmux/pane"],
  "tmux/client": ["tmux/pane", "tmux/control", "files"],
  session: ["agents", "eventlog"],
  wire: ["session", "gen"],
  "pane/screen": ["agents", "session"],
  "pane/state": ["pane/screen", "agents", "session"],
  "pane/watch": ["pane/screen", "session"],
  "pane/delivery": ["pane/state", "pane/screen", "agents", "session"],
  "pane/attach": ["pane/delivery", "pane/screen", "session"],
  "sidecar/halves": ["session", "agents", "process", "files"],
  "sidecar/supervisor": ["sidecar/halves", "process", "files", "tmux/*", "agents/*"],
  "sidecar/agent": [
    ...["sidecar/halves", "pane/screen", "pane/state", "pane/delivery", "pane/attach"],
    ...["tmux/pane", "tmux/control", "session", "eventlog", "agents/*", "process", "files"],
  ],
  "sidecar/serving": [
    ...["sidecar/agent", "sidecar/halves", "pane/watch", "pane/attach", "session", "wire", "auth"],
    ...["rpc/server", "rpc/port", "rpc/common", "gen"],
  ],
  terminal: [
    ...["terminal/finding", "pane/screen", "pane/state", "pane/delivery", "session", "wire", "agents/*"],
    ...["tmux/*", "rpc/*", "process", "files", "gen"],
  ],
  "terminal/finding": ["process", "files"],
  bridge: ["session", "wire", "eventlog", "auth", "files", "rpc/*", "gen"],
  providers: ["agents/*", "session", "process", "bridge", "wire", "rpc/client", "gen"],
  kube: [],
  controller: ["kube", "bridge", "session", "wire", "auth", "pki", "rpc/*", "gen"],
  demo: [],
};

/** Arrows that the rooms above do not allow and that files which are still to be cut need. Nothing is added here. */
export const transitional = {
  "rpc/port": ["rpc/server"],
  "tmux/pane": ["files"],
  wire: ["sidecar/halves", "terminal"],
  "pane/state": ["pane/delivery", "agents/programs"],
  "pane/delivery": ["pane/attach", "tmux/pane"],
  "pane/attach": ["tmux/pane"],
  "sidecar/serving": ["agents", "agents/programs", "eventlog", "pane/screen", "tmux/control", "tmux/pane"],
  terminal: ["pane/watch", "agents/programs"],
  "terminal/finding": ["terminal"],
};
