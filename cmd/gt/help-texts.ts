import type { CommandName } from "./flags.ts";

const PLACE = `Where the agent is (looked for in this order; without any of it: its bead, local tmux, sidecars of this machine):
      --host HOST       its sidecar's host (GT_SIDECAR_HOST), default 127.0.0.1 with --port
      --port PORT       its sidecar's port (GT_SIDECAR_PORT), default 9090 with --host
      --server ADDR     a control plane (GT_SERVER)
      --socket NAME     only this local tmux server, a name as for tmux -L or a path (GT_TMUX_SOCKET asks it first)
      --tls-dir DIR     tls.crt, tls.key and ca.crt for the sidecar (GT_TLS_DIR)
      --ca, --cert, --key FILE    the same, file by file
      --agent-profile P claude, codex, opencode, demo or generic, where a local session does not tell
`;

/** `gt --help`. */
export const overview = `gt looks at coding agents and talks to them, near or far.

Usage:
  gt peek <agent> [count]       show the last lines of its terminal
  gt nudge <agent> [message]    deliver a message, and prove it
  gt respond <agent> [choice]   answer its dialog, or show the choices
  gt status [agent]             what it does, and from what that is known
  gt watch <agent>              its terminal as it changes
  gt attach <agent>             your terminal on its terminal
  gt agents                     the agents that can be reached from here
  gt completion <shell>         completion for bash, zsh or fish
  gt help [command]             more about a command

An agent is rig/name, rig/polecats/name, rig/crew/name, rig/witness, rig/refinery, mayor, deacon, boot, or a name alone
where that is enough.

Examples:
  gt peek gastown/toast 20
  gt nudge gastown/toast "run the tests again, please"
  gt status
  gt watch mayor --host 10.0.3.7 --port 9090 --tls-dir ~/.gt/tls

Exit codes: 0 done, 2 usage, 3 no such agent, 4 unreachable or not trusted, 5 queued and not yet delivered,
6 refused, 7 delivered without proof, 1 a bug.
`;

/** \`gt COMMAND --help\`. */
export const helpTexts: Readonly<Record<CommandName, string>> = {
  peek: `Shows the last lines of an agent's terminal, exactly as many as asked for.

Usage: gt peek <agent> [count] [flags]

  -n, --lines N     how many lines (100); a count behind the agent wins
      --all         everything that is kept
      --ansi        keep colours and styling
      --join        join lines that the terminal wrapped
  -f, --follow      go on with each new line; lines that keep changing are left out until they stand still
      --json        one JSON object with the text and the facts about the terminal

${PLACE}
Examples:
  gt peek gastown/toast
  gt peek gastown/toast 5
  gt peek gastown/crew/max --all > max.log
  gt peek mayor --follow
  gt peek demo --json | jq -r .output
`,
  nudge: `Delivers a message to an agent and says what became of it. Never types into a dialog or onto a person's text, and
never twice.

Usage: gt nudge <agent> [message] [flags]

  -m, --message TEXT    the message; wins over the one behind the agent
      --stdin           read the message from stdin; line feeds at its end are removed
      --mode MODE       wait-idle: type when it is idle (the default)
                        immediate: type now, even while it works
                        queue: come back at once, type at the next idle moment (needs a sidecar)
      --priority P      normal or urgent: urgent goes ahead in the queue
      --timeout TIME    how long to wait for the outcome (75s, at most 10m)
      --request-id ID   the same id and message are never typed twice: asks again for the receipt
  -f, --force           even when the agent does not want to be disturbed
      --if-fresh        do nothing when the tmux session you call from is older than a minute
      --json            the receipt as JSON

The sender is GT_ROLE, else your user name and machine.

${PLACE}
Exit codes: 0 submitted, 5 queued, 6 refused (dialog, draft, dead, unsafe, expired, cancelled), 7 typed without proof.

Examples:
  gt nudge gastown/toast "run the tests again, please"
  git diff | gt nudge gastown/crew/max --stdin
  gt nudge mayor -m "deploy is green" --mode queue --priority urgent
  gt nudge demo hello --json | jq -r .outcome
`,
  respond: `Answers the dialog that an agent has open. The dialog is looked at again right before the key. Without a choice it shows the
dialog and its choices.

Usage: gt respond <agent> [choice] [flags]

      --text TEXT       one line, for a choice that asks for text
      --dialog-id ID    only this dialog (gt status --json tells its id); else the one that is open
      --request-id ID   the same id and answer are never pressed twice by its sidecar
      --json            everything as JSON

A choice is its key, or a beginning of its label that no other has; upper and lower case are alike. A whole label goes
before a beginning.

${PLACE}
Exit codes: 0 answered or shown, 6 refused (no dialog is open, or another one by now), 7 pressed without proof.

Examples:
  gt respond gastown/toast
  gt respond gastown/toast yes
  gt respond gastown/toast 2 --dialog-id 5f0c1a9b22d43e10
  gt respond gastown/crew/max --text "use the staging database"
`,
  status: `Tells what an agent does, since when, and from what evidence that is known. Without an agent: one line for each that can
be found from here.

Usage: gt status [agent] [flags]

      --json    everything as JSON; without an agent an array

${PLACE}
Examples:
  gt status
  gt status gastown/toast
  gt status --json | jq -r '.[] | select(.state == "dialog") | .agent'
  gt status --host 127.0.0.1 --port 9090
`,
  watch: `Shows an agent's terminal as it changes. On a terminal it is redrawn in place, with the agent's state above it; elsewhere
new lines are printed as they come. Ctrl-C leaves.

Usage: gt watch <agent> [flags]

  -n, --lines N         how many lines (what fits; 50 without a terminal)
      --ansi            keep colours and styling
      --interval TIME   least time between two updates (100ms)
      --json            one JSON object for each update

${PLACE}
Examples:
  gt watch gastown/toast
  gt watch mayor --ansi --lines 30
  gt watch demo --json | jq -r .output
`,
  attach: `Puts your terminal on an agent's terminal: you see and type what somebody in front of it would. What you had on your
terminal before is there again afterwards.

Usage: gt attach <agent> [flags]

  -r, --read-only           look only: nothing is typed, and the window's size stays
      --detach-keys KEYS    keys that leave (ctrl-]), as in ctrl-p,ctrl-q

While you are the only one who can type, the window has the size of your terminal; with others it has its own, and you see
the part around the cursor. Messages wait while you type. When the connection breaks, it is made again by itself.

An agent in local tmux is attached to by tmux: there its own keys leave (usually Ctrl-b d), and --detach-keys means nothing.

\${PLACE}
Examples:
  gt attach gastown/toast
  gt attach mayor --read-only
  gt attach demo --host 10.0.3.7 --tls-dir ~/.gt/tls --detach-keys ctrl-p,ctrl-q
`,
  agents: `Lists the agents that can be reached from here without saying where: local tmux sessions with upstream's names, and the
sidecars that run on this machine. Connects to nothing.

Usage: gt agents [flags]

  -q, --quiet   addresses only, one a line
      --json    everything as JSON

${PLACE}
Examples:
  gt agents
  gt agents --quiet | xargs -n 1 gt peek -n 3
  gt agents --socket work
`,
  completion: `Prints a completion script.

Usage: gt completion <bash|zsh|fish>

Examples:
  source <(gt completion bash)
  gt completion zsh > "\${fpath[1]}/_gt"
  gt completion fish > ~/.config/fish/completions/gt.fish
`,
  help: `Shows help.

Usage: gt help [command]

Example:
  gt help nudge
`,
};
