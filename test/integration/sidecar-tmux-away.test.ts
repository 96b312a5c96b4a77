import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kill } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { RespondOutcome } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../internal/gen/gastown/v1/terminal_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { openAttach } from "../support/sidecar/attach-client.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";
import { inItsTmux } from "../support/sidecar/sidecar-hands.ts";

/** A tmux whose control clients wait to start while `hold` exists; a waiting one has created `held`. */
const TMUX = `#!/bin/sh
here="\${0%/*}"
case " $* " in *" -C "*) while [ -e "$here/hold" ]; do : > "$here/held"; sleep 0.05; done ;; esac
PATH="\${PATH#"$here:"}"
exec tmux "$@"
`;

/** Longer than a look at a dialog or a screen before the first key, and far shorter than a call waits. */
const AWAY_MS = 700;

interface HeldTmux {
  readonly sidecar: RunningSidecar;
  /** Keeps control clients of tmux from starting. */
  hold(): void;
  letGo(): void;
  /** Ends the control client; resolves when the serving half has noticed. */
  loseClient(): Promise<void>;
}

async function startHeld(isHeld: boolean): Promise<HeldTmux> {
  const sidecar = await startSidecar((dir) => ({
    env: { PATH: `${dir}:${process.env["PATH"]}` },
    command: demoCommand(dir),
    prepare: async () => {
      writeFileSync(join(dir, "tmux"), TMUX);
      chmodSync(join(dir, "tmux"), 0o755);
      if (isHeld) writeFileSync(join(dir, "hold"), "");
    },
  }));
  const file = (name: string) => join(sidecar.dir, name);
  const hold = () => writeFileSync(file("hold"), "");
  return {
    sidecar,
    hold,
    letGo: () => rmSync(file("hold"), { force: true }),
    loseClient: async () => {
      rmSync(file("held"), { force: true });
      hold();
      const [pid = ""] = (await inItsTmux(sidecar, "list-clients", "-F", "#{client_pid}")).trim().split("\n");
      kill(Number(pid), "SIGKILL");
      await until("the next control client", 30_000, () => existsSync(file("held")) || undefined);
    },
  };
}

describe("while tmux's control client is briefly down", () => {
  it("calls to a terminal that Status reports as alive wait for the client", { timeout: 120_000 }, async () => {
    const { sidecar, loseClient, letGo } = await startHeld(false);
    await using _ = sidecar;
    const { client } = sidecar;
    await sidecar.untilState(AgentState.IDLE);
    await using person = openAttach(client, { name: "ann" });
    await until("ann", 30_000, async () => (await client.status({})).attached === 1 || undefined);
    await loseClient();
    person.type("a");
    const keys = client.sendKeys({ text: "b" });
    const peek = client.peek({ all: true, ansi: true });
    const { sessionAlive } = await client.status({});
    letGo();
    expect(await Promise.all([keys, peek, sessionAlive])).toMatchObject([{ sent: true }, {}, true]);
    await until("both keys", 30_000, async () => {
      const { output } = await client.peek({ lines: 20 });
      return /ab|ba/.test(output) || undefined;
    });
    expect(person.told.filter((line) => line.startsWith("notice"))).toEqual([]);
  });

  it("Respond still answers the dialog, and SendInput types its text", { timeout: 120_000 }, async () => {
    const { sidecar, loseClient, letGo } = await startHeld(false);
    await using _ = sidecar;
    const { client } = sidecar;
    using connection = sidecarTransport({ baseUrl: sidecar.url });
    const terminal = createClient(TerminalService, connection.transport);
    await client.nudge({ message: "please run: rm x" });
    // The agent's own report may come before it has drawn the dialog.
    const dialog = await until("the dialog", 30_000, async () => (await client.status({})).dialog);
    await loseClient();
    const answer = client.respond({ dialogId: dialog.id, choice: "1" });
    await sleep(AWAY_MS);
    letGo();
    expect(await answer).toMatchObject({ outcome: RespondOutcome.ANSWERED });
    await sidecar.untilState(AgentState.IDLE);
    await loseClient();
    const typed = terminal.sendInput({ session: "claude", input: "a draft", nudge: false });
    await sleep(AWAY_MS);
    letGo();
    expect(await typed).toMatchObject({ delivered: true, error: "" });
  });

  it("the first keys for an agent wait until the agent has been found", { timeout: 120_000 }, async () => {
    const { sidecar, letGo } = await startHeld(true);
    await using _ = sidecar;
    const keys = sidecar.client.sendKeys({ text: "b" });
    await sidecar.client.status({}); // answered when the time for which every call waits is over
    letGo();
    expect(await keys).toMatchObject({ sent: true });
    expect(await sidecar.client.status({})).toMatchObject({ sessionAlive: true });
  });
});
