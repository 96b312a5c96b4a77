import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { includes, type RoleRule } from "../../auth/roles.ts";
import { withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { AttachHello, SidecarAttachInput, SidecarAttachOutputSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import { attach } from "../../pane/attach/attach.ts";
import { attachInputs, attachOutput } from "../../wire/attach.ts";
import type { SidecarAgent } from "../agent/sidecar-agent.ts";
import { callerRole } from "./access.ts";

export interface AttachServiceDeps {
  readonly clock: Clock;
  readonly agent: Pick<SidecarAgent, "lifecycle" | "messages" | "pane" | "terminal">;
  readonly roleRules: readonly RoleRule[];
  /** Called with the decision about a caller that wants to type. */
  readonly decided: (context: HandlerContext, refusal: DomainError | undefined) => void;
  /** The name to show for a caller that calls itself `claimed`. */
  readonly nameOf: (claimed: string, context: HandlerContext) => string;
}

type Output = MessageInitShape<typeof SidecarAttachOutputSchema>;

/** The time within which the first message must arrive. */
const HELLO_MS = 5000;

/** Serves one Attach call; see `attach` in `internal/pane`. */
export async function* attachCall(
  { clock, agent, roleRules, decided, nameOf }: AttachServiceDeps,
  requests: AsyncIterable<SidecarAttachInput>,
  context: HandlerContext,
): AsyncGenerator<Output, void, undefined> {
  const iterator = requests[Symbol.asyncIterator]();
  const { cols, rows, readOnly, name } = await helloOf(iterator, clock);
  if (!readOnly) {
    const refusal = typingRefusal(context, roleRules);
    decided(context, refusal);
    if (refusal) throw refusal;
  }
  const { lifecycle, messages, pane, terminal } = agent;
  const { people, output } = terminal;
  const deps = {
    ...{ clock, people, output, mailbox: messages.mailbox },
    paneForCall: pane.forCall,
    ended: () => terminal.ended,
    exitCode: () => lifecycle.exitCode ?? 0,
  };
  const hello = { cols, rows, readOnly, name: nameOf(name, context) };
  for await (const message of attach(deps, hello, attachInputs(iterator), context.signal)) yield attachOutput(message);
}

function typingRefusal(context: HandlerContext, roleRules: readonly RoleRule[]): DomainError | undefined {
  if (includes(callerRole(context, roleRules), "operate")) return undefined;
  return new DomainError("denied", "this caller is read-only: typing needs the role operate", {
    fields: { hint: "attach read-only" },
  });
}

async function helloOf(iterator: AsyncIterator<SidecarAttachInput>, clock: Clock): Promise<AttachHello> {
  const first = await withTimeout(clock, HELLO_MS, "hello", iterator.next()).catch((err: unknown) => {
    if (err instanceof DomainError && err.kind === "deadline") throw noHello(err);
    throw err;
  });
  if (first.done || first.value.input.case !== "hello") throw noHello();
  return first.value.input.value;
}

function noHello(cause?: unknown): DomainError {
  return new DomainError("invalid", `the first message of an attachment must be hello, within ${HELLO_MS} ms`, {
    cause,
  });
}
