import type { CommandNode } from "../../../internal/cli/command/command.ts";

/** `gt threads`: conversations with agents, from a shell. */
export const threads: CommandNode = {
  name: "threads",
  help: {
    summary: "conversations between agents and people",
    text: `Durable conversations of a workspace, served by threads. An idle agent for whom a message waits is woken, and the
receipt says whether it was. A thread is named by its id or the beginning of it.`,
    examples: [
      'gt threads new "review of #12" --with mayor --with gastown/nux:fixer',
      'gt threads post t-abc "please review" --role reviewer --wait',
      "gt threads read t-abc --new --ack",
    ],
  },
  commands: {
    ls: async () => (await import("./ls/ls.ts")).ls,
    new: async () => (await import("./new/new.ts")).newThread,
    show: async () => (await import("./show/show.ts")).show,
    read: async () => (await import("./read/read.ts")).read,
    post: async () => (await import("./post/post.ts")).post,
    ack: async () => (await import("./ack/ack.ts")).ack,
    watch: async () => (await import("./watch/watch.ts")).watch,
    status: async () => (await import("./status/status.ts")).status,
    inbox: async () => (await import("./inbox/inbox.ts")).inbox,
    wakes: async () => (await import("./wakes/wakes.ts")).wakes,
    wake: async () => (await import("./wake/wake.ts")).wake,
    dispute: async () => (await import("./dispute/dispute.ts")).dispute,
    summary: async () => (await import("./summary/summary.ts")).summary,
    search: async () => (await import("./search/search.ts")).search,
    escalate: async () => (await import("./escalate/escalate.ts")).escalate,
    escalations: async () => (await import("./escalations/escalations.ts")).escalations,
    participants: async () => (await import("./participants/participants.ts")).participants,
    sessions: async () => (await import("./sessions/sessions.ts")).sessions,
    pause: async () => (await import("./pause/pause.ts")).pause,
    resume: async () => (await import("./resume/resume.ts")).resume,
    audit: async () => (await import("./audit/audit.ts")).audit,
    revoke: async () => (await import("./revoke/revoke.ts")).revoke,
    policy: async () => (await import("./policy/policy.ts")).policy,
    connect: async () => (await import("./connect/connect.ts")).connect,
    mcp: async () => (await import("./mcp/mcp.ts")).mcp,
  },
};
