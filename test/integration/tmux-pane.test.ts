import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { captureFolder } from "../../internal/tmux/client/capture-folder.ts";
import { TmuxPane } from "../../internal/tmux/pane/pane.ts";
import { eventually } from "../support/eventually.ts";
import { deadPane, PAYLOADS, receiver, SCREEN } from "../support/screens/receiving-pane.ts";
import { type TmuxSandbox, tmuxSandbox } from "../support/screens/tmux-sandbox.ts";

async function isInMode({ client, pane }: TmuxSandbox): Promise<boolean> {
  const [answer] = await client.command(`display-message -p -t ${pane.id} "#{pane_in_mode}"`);
  return answer !== "0";
}

describe("sendBytes", () => {
  it.each([
    ...PAYLOADS,
    ["not assigned, private, zero width", "abcdefgh\u0378\ue000\u200b\u{10ffff}\u{e0100}\ufeffijk"] as const,
  ])("delivers byte for byte: %s", async (_name, text) => {
    await using box = await receiver();
    const data = Buffer.from(text);
    for (let at = 0; at < data.length; at += 4096) await box.pane.sendBytes(data.subarray(at, at + 4096));
    await box.receives(text);
    expect(await box.received()).toBe(text);
  });

  it("delivers every byte value in the middle of text", async () => {
    await using box = await receiver();
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const data = Buffer.concat([Buffer.from("some text 日本 "), bytes, Buffer.from(" more text 日本")]);
    expect(await box.pane.sendBytes(data)).toBe("sent");
    const path = join(box.dir, "received");
    await eventually("its arrival", async () => (await readFile(path)).length >= data.length);
    expect((await readFile(path)).equals(data)).toBe(true);
  });
});

describe("paste", () => {
  it.each(PAYLOADS)("delivers byte for byte: %s", async (_name, text) => {
    await using box = await receiver();
    await box.pane.stage("gt-x", text);
    expect(await box.pane.paste("gt-x")).toBe("pasted");
    await box.receives(text);
    expect(await box.received()).toBe(text);
    expect(await box.pane.bufferExists("gt-x")).toBe(false);
  });

  it("is bracketed for a program that enabled it", async () => {
    await using box = await receiver("\\033[?2004h");
    await box.pane.stage("gt-x", "a\nb");
    await box.pane.paste("gt-x");
    const expected = "\x1b[200~a\nb\x1b[201~";
    await box.receives(expected);
    expect(await box.received()).toBe(expected);
  });

  it.each([
    ["copy mode", ["copy-mode -t %0"]],
    ["tree mode", ["choose-tree -t %0"]],
    ["clock mode", ["clock-mode -t %0"]],
    ["view mode", ["run-shell -t %0 'echo shown'"]],
    ["two modes at once", ["copy-mode -t %0", "choose-tree -t %0"]],
  ])("leaves %s first", async (_name, commands) => {
    await using box = await receiver();
    for (const command of commands) await box.client.script(command);
    expect(await isInMode(box)).toBe(true);
    await box.pane.stage("gt-x", "through");
    expect(await box.pane.paste("gt-x")).toBe("pasted");
    expect(await isInMode(box)).toBe(false);
    expect(await box.pane.enter()).toBe("sent");
    await box.receives("through\r");
    expect(await box.received()).toBe("through\r");
  });

  it("B3: is refused by a dead pane, the server survives, and the buffer stays", async () => {
    await using box = await deadPane();
    await box.pane.stage("gt-x", "text");
    for (let i = 0; i < 3; i++) expect(await box.pane.paste("gt-x")).toBe("refused");
    expect(await box.pane.listBuffers("gt-")).toEqual(["gt-x"]);
    await box.pane.dropBuffer("gt-x");
    await box.pane.dropBuffer("gt-x");
    expect(await box.pane.bufferExists("gt-x")).toBe(false);
    expect(box.server.exit).toBeUndefined();
  });

  it("is refused while input to the pane is turned off", async () => {
    await using box = await receiver();
    await box.client.command(`select-pane -d -t ${box.pane.id}`);
    await box.pane.stage("gt-x", "text");
    expect(await box.pane.paste("gt-x")).toBe("refused");
    expect(await box.pane.sendText("text")).toBe("refused");
    expect(await box.pane.enter()).toBe("refused");
    await box.client.command(`select-pane -e -t ${box.pane.id}`);
    expect(await box.pane.enter()).toBe("sent");
    await box.receives("\r");
    expect(await box.received()).toBe("\r");
  });

  it("of a buffer that does not exist fails and types nothing", async () => {
    await using box = await receiver();
    await expect(box.pane.paste("gt-none")).rejects.toMatchObject({ kind: "precondition" });
    expect(await box.pane.bufferExists("gt-none")).toBe(false);
    expect(await box.received()).toBe("");
  });
});

describe("keys and text", () => {
  it.each(["-R", "-o x", "a;", ";", "hello", "$HOME ~ #{pane_id}", "漢字 👨‍👩‍👧"])(
    "sendText types %j as it is",
    async (text) => {
      await using box = await receiver();
      expect(await box.pane.sendText(text)).toBe("sent");
      await box.receives(text);
      expect(await box.received()).toBe(text);
    },
  );

  it("sendKeys presses keys by name, even with a mode open", async () => {
    await using box = await receiver();
    await box.client.command(`copy-mode -t ${box.pane.id}`);
    expect(await box.pane.sendKeys(["C-c", "Escape", "Up", ";", "-", "M-x", "Enter"])).toBe("sent");
    const expected = "\x03\x1b\x1b[A;-\x1bx\r";
    await box.receives(expected);
    expect(await box.received()).toBe(expected);
  });

  it("Enter arrives although several modes are open", async () => {
    await using box = await receiver();
    await box.client.command(`copy-mode -t ${box.pane.id}`);
    await box.client.command(`clock-mode -t ${box.pane.id}`);
    expect(await box.pane.enter()).toBe("sent");
    await box.receives("\r");
    expect(await box.received()).toBe("\r");
    expect(await isInMode(box)).toBe(false);
  });

  it("Enter is pressed only at the expected cursor position, if one is given", async () => {
    await using box = await receiver();
    const { cursorX: x, cursorY: y } = await box.pane.facts();
    expect(await box.pane.enter({ x: x + 1, y })).toBe("moved");
    expect(await box.pane.enter({ x, y: y + 1 })).toBe("moved");
    expect(await box.pane.enter({ x, y })).toBe("sent");
    await box.receives("\r");
    expect(await box.received()).toBe("\r");
  });

  it("report how much typed text is unread, and type a text only at the expected cursor position", async () => {
    const script = "stty raw -echo; printf ready; until [ -e go ]; do sleep 0.1; done; head -c 7 > got; sleep 60";
    await using box = await tmuxSandbox({ argv: ["sh", "-c", script] });
    await eventually("the program", async () => (await box.pane.capture(SCREEN)).includes("ready"));
    expect(await box.pane.typeAt("nothing", { x: 1, y: 3 })).toBe("moved");
    expect(await box.pane.typeAt("1234567", { x: 5, y: 0 })).toBe("sent");
    await eventually("its arrival", async () => (await box.pane.unread()) === 7);
    await writeFile(join(box.dir, "go"), "");
    await eventually("its reading", async () => (await box.pane.unread()) === 0);
  });

  it("are refused by a dead pane", async () => {
    await using box = await deadPane();
    expect(await box.pane.sendKeys(["Up"])).toBe("refused");
    expect(await box.pane.sendText("x")).toBe("refused");
    expect(await box.pane.enter()).toBe("refused");
  });
});

describe("facts", () => {
  it("contain the exit code and the signal", async () => {
    await using exited = await deadPane();
    expect(await exited.pane.recoverDeadStatus()).toMatchObject({ dead: true, deadStatus: 7 });
    await using killed = await deadPane("x", "kill -9 $$");
    expect(await killed.pane.recoverDeadStatus()).toMatchObject({ dead: true, deadSignal: 9 });
  });

  it("cannot be forged or put out of step by a program's title or name", async () => {
    const title = "%end 1 2 1 ,,, #{pane_pid} %d #(id) gt0123";
    const name = "x\n%end 1795000000 400 1\ny";
    const argv = ["bash", "-c", `printf '\\033]2;%s\\007' "$1"; exec -a "$2" sleep 1000`, "bash", title, name] as const;
    await using box = await tmuxSandbox({ argv });
    const facts = await eventually("the names", async () => {
      const now = await box.pane.facts();
      return now.title === title && now.currentCommand.startsWith("x") && now;
    });
    expect(facts.currentCommand).not.toMatch(/[\x00-\x1f]/);
    expect(facts).toMatchObject({ dead: false, cols: 80, rows: 24 });
  });

  it("follow the alternate screen, the cursor and the size", async () => {
    await using box = await tmuxSandbox({ argv: ["sh", "-c", "printf '\\033[?1049h\\033[5;9H'; exec sleep 1000"] });
    await eventually("the alternate screen", async () => (await box.pane.facts()).alternate);
    await box.pane.resize(100, 40);
    expect(await box.pane.facts()).toMatchObject({
      alternate: true,
      cursorX: 8,
      cursorY: 4,
      cols: 100,
      rows: 40,
      piped: false,
    });
  });

  it("of a missing pane are an error", async () => {
    await using box = await tmuxSandbox();
    const gone = new TmuxPane(box.client, "%99", captureFolder(box.dir));
    await expect(gone.facts()).rejects.toMatchObject({ kind: "unavailable" });
    await expect(gone.capture(SCREEN)).rejects.toMatchObject({ kind: "precondition" });
    await expect(gone.sendText("x")).rejects.toMatchObject({ kind: "precondition" });
  });

  it("B7: contain no status if the command closed its terminal and continues", async () => {
    await using box = await tmuxSandbox({
      argv: ["sh", "-c", "trap '' HUP; exec sleep 1000 < /dev/null > /dev/null 2>&1"],
    });
    await eventually("death", async () => (await box.pane.facts()).dead);
    const facts = await box.pane.recoverDeadStatus();
    expect(facts.dead).toBe(true);
    expect(facts.deadStatus).toBeUndefined();
    process.kill(facts.pid, "SIGKILL");
    await eventually("its end", async () => (await box.pane.recoverDeadStatus()).deadSignal === 9);
  });

  it("B7: 40 deaths in a row each have their status", async () => {
    await using box = await tmuxSandbox({ argv: ["sh", "-c", "exit 3"] });
    for (let i = 0; i < 40; i++) {
      await eventually("death", async () => (await box.pane.facts()).dead);
      expect(await box.pane.recoverDeadStatus()).toMatchObject({ dead: true, deadStatus: 3 });
      await box.pane.respawn({ argv: ["sh", "-c", "exit 3"], env: {}, unsetEnv: [], cwd: box.dir });
    }
  });
});

describe("find", () => {
  it("returns the session's first pane, and ignores a session with a longer name", async () => {
    await using box = await tmuxSandbox();
    await box.client.command("split-window -d -b -t =claude:");
    expect((await TmuxPane.find(box.client, "claude", captureFolder(box.dir))).id).toBe(box.pane.id);
    await expect(TmuxPane.find(box.client, "clau", captureFolder(box.dir))).rejects.toMatchObject({
      kind: "precondition",
    });
  });
});
