import { setTimeout as sleep } from "node:timers/promises";
import { ConnectError } from "@connectrpc/connect";
import { AgentState, NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { RespondOutcome } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import type { DialogBed } from "./dialog-bed.ts";
import type { DialogCase } from "./dialog-case.ts";
import { callFor } from "./dialog-model.ts";
import { type CaseFacts, type CaseResult, judgeCase } from "./judge-case.ts";
import { choiceFor, SECOND_STEP, TYPED } from "./known-choices.ts";

/** OpenCode draws its dialogs in steps: a dialog counts once it is unchanged for this long. */
const STANDS_MS = 300;
/** Long, for machines with other work. */
const OPENS_MS = 90_000;

interface Seen {
  readonly id: string;
  readonly choices: readonly { readonly key: string; readonly label: string; readonly selected: boolean }[];
}

/**
 * Makes the agent ask, answers its dialog, and judges by the agent's actions. @throws if the agent has become unusable
 */
export async function runCase(
  bed: DialogBed,
  one: DialogCase,
  onDialog: (screen: string) => void,
): Promise<CaseResult> {
  const { client } = bed.agent.sidecar;
  await bed.prepare(one);
  const sent = await client.nudge({ message: callFor(one), timeoutMs: 90_000n });
  if (sent.outcome !== NudgeOutcome.SUBMITTED) throw new Error(`the message for ${one.id} ended ${sent.outcome}`);
  const dialog = await openDialog(bed, one);
  const facts: CaseFacts = {
    choices: dialog?.choices ?? [],
    answered: "not asked",
    detail: "",
    ran: false,
    result: undefined,
  };
  if (dialog === undefined)
    return judgeCase(one, { ...facts, ran: await bed.didRun(one), result: bed.toolResult(one) });
  onDialog((await client.peek({ lines: 60 })).output);
  const wanted = choiceFor(one, dialog.choices);
  const answered = wanted === undefined ? NOT_OFFERED : await answer(bed, dialog, wanted, one);
  await end(bed, one);
  return judgeCase(one, { ...facts, ...answered, ran: await bed.didRun(one), result: bed.toolResult(one) });
}

const NOT_OFFERED = { answered: "not offered", detail: "" } as const;

/** Undefined if the agent ended its turn without asking. */
async function openDialog(bed: DialogBed, one: DialogCase): Promise<Seen | undefined> {
  const { client } = bed.agent.sidecar;
  let seen = { id: "", since: 0 };
  const looked = await until("a dialog that stands still", OPENS_MS, async () => {
    const { state, dialog } = await client.status({});
    if (state === AgentState.IDLE && bed.toolResult(one) !== undefined) return "none" as const;
    if (state !== AgentState.DIALOG || dialog === undefined) return undefined;
    if (dialog.id !== seen.id) seen = { id: dialog.id, since: performance.now() };
    return performance.now() - seen.since >= STANDS_MS ? dialog : undefined;
  });
  return looked === "none" ? undefined : looked;
}

async function answer(
  bed: DialogBed,
  dialog: Seen,
  choice: string,
  one: DialogCase,
): Promise<Pick<CaseFacts, "answered" | "detail">> {
  const { client } = bed.agent.sidecar;
  const text = one.answer === "text" ? TYPED : "";
  try {
    const { outcome, evidence } = await client.respond({ dialogId: dialog.id, choice, text });
    const detail = evidence.map((item) => item.value).join("; ");
    if (outcome === RespondOutcome.ANSWERED) return { answered: "answered", detail };
    if (outcome === RespondOutcome.UNKNOWN) return { answered: "unknown", detail };
    return { answered: "changed", detail: `${detail} ${await second(bed, one)}` };
  } catch (err) {
    if (err instanceof ConnectError) return { answered: "refused", detail: err.rawMessage };
    throw err;
  }
}

/** Completes a choice that opens another dialog. */
async function second(bed: DialogBed, one: DialogCase): Promise<string> {
  const wanted = SECOND_STEP[one.agent]?.[one.answer];
  if (wanted === undefined) return "";
  const { client } = bed.agent.sidecar;
  if (wanted === "Enter") {
    await client.sendKeys({ keys: ["Enter"] });
    return "";
  }
  const dialog = await openDialog(bed, one);
  const key = dialog?.choices.find((choice) => choice.label === wanted)?.key;
  if (dialog === undefined || key === undefined) return `no ${wanted}`;
  const { outcome } = await client.respond({ dialogId: dialog.id, choice: key });
  return `${wanted}: ${outcome === RespondOutcome.ANSWERED ? "answered" : String(outcome)}`;
}

/** Waits until the agent has reported the result to the model, or its turn is over. */
async function end(bed: DialogBed, one: DialogCase): Promise<void> {
  const { client } = bed.agent.sidecar;
  const told = () => (bed.toolResult(one) === undefined ? undefined : true);
  await until(
    "the tool's result",
    30_000,
    async () => told() ?? ((await client.status({})).state === AgentState.IDLE || undefined),
  ).catch(() => {});
  await sleep(30);
}
