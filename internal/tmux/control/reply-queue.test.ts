import { describe, expect, it } from "vitest";
import { type ControlBlock, ControlParser } from "./control-parser.ts";
import { ReplyQueue } from "./reply-queue.ts";
import { commandRequest, scriptRequest } from "./requests.ts";

function reply(ok: boolean, ...lines: string[]): ControlBlock {
  const body = lines.map((line) => `${line}\n`).join("");
  const [event] = new ControlParser().push(Buffer.from(`%begin 1 2 1\n${body}%${ok ? "end" : "error"} 1 2 1\n`));
  if (event?.type !== "block") throw new Error("not a block");
  return event;
}

function queueOf(maxInFlight = 64, maxWaiting = 2) {
  const written: string[] = [];
  const queue = new ReplyQueue({ maxInFlight, maxWaiting }, (text) => written.push(text));
  const command = (line: string) => {
    const { request, answer } = commandRequest(line);
    queue.submit(request);
    return { request, answer };
  };
  return { queue, written, command };
}

describe("ReplyQueue", () => {
  it("passes each reply to the oldest request", async () => {
    const { queue, written, command } = queueOf();
    const a = command("list-panes");
    const b = command("list-buffers");
    expect(written).toEqual(["list-panes\n", "list-buffers\n"]);
    queue.accept(reply(true, "of a"));
    queue.accept(reply(true, "of b"));
    expect([await a.answer, await b.answer]).toEqual([["of a"], ["of b"]]);
  });

  it("rejects with tmux's message and the command's name, but not its arguments", async () => {
    const { queue, command } = queueOf();
    const { answer } = command("set-buffer -b x -- secret");
    queue.accept(reply(false, "no \x1b[1mspace"));
    await expect(answer).rejects.toMatchObject({ kind: "precondition", message: "tmux refused set-buffer: no space" });
  });

  it("writes no more than may be in flight, and the next after a reply", async () => {
    const { queue, written, command } = queueOf(1);
    const a = command("list-panes");
    command("list-buffers").answer.catch(() => {});
    expect(written).toEqual(["list-panes\n"]);
    queue.accept(reply(true));
    await a.answer;
    expect(written).toEqual(["list-panes\n", "list-buffers\n"]);
  });

  it("is exhausted if too many requests wait", () => {
    const { command } = queueOf(1, 2);
    for (let i = 0; i < 3; i++) command("list-panes");
    expect(() => command("list-panes")).toThrow(expect.objectContaining({ kind: "exhausted" }));
  });

  it("withdraws a waiting request, but keeps the place of a written one", async () => {
    const { queue, written, command } = queueOf(1);
    const a = command("list-panes");
    const b = command("list-buffers");
    expect(queue.withdraw(a.request)).toBe(false);
    expect(queue.withdraw(b.request)).toBe(true);
    queue.accept(reply(true, "of a"));
    expect(await a.answer).toEqual(["of a"]);
    expect(written).toEqual(["list-panes\n"]);
  });

  it("reports for each failed request whether it may have run", async () => {
    const { queue, command } = queueOf(1);
    const sent = command("kill-server").answer;
    const waiting = command("list-panes").answer;
    queue.failAll("server exited");
    await expect(sent).rejects.toMatchObject({ kind: "unavailable", sent: true, fields: { sent: true } });
    await expect(waiting).rejects.toMatchObject({ kind: "unavailable", sent: false });
  });

  it("reports a reply without a request", () => {
    expect(queueOf().queue.accept(reply(true))).toBe(false);
  });
});

describe("scriptRequest", () => {
  it("collects replies until its sentinel answers, errors included", async () => {
    const { queue, written } = queueOf();
    const { request, answer } = scriptRequest("list-panes ; bad", "gt-nonce");
    queue.submit(request);
    expect(written).toEqual(["list-panes ; bad\ndisplay-message -p gt-nonce\n"]);
    for (const block of [
      reply(true, "a"),
      reply(false, "gt-nonce"),
      reply(true, "gt-nonce", "b"),
      reply(true, "gt-nonce"),
    ]) {
      queue.accept(block);
    }
    expect(await answer).toEqual([
      { ok: true, lines: ["a"] },
      { ok: false, lines: ["gt-nonce"] },
      { ok: true, lines: ["gt-nonce", "b"] },
    ]);
    expect(queue.inFlight).toBe(0);
  });

  it.each([
    ["replies", 9000, 1],
    ["bytes of replies", 40, 1 << 20],
  ])("treats a reply as foreign if a script would have more %s than any of ours", async (_, count, length) => {
    const { queue } = queueOf();
    const { request, answer } = scriptRequest("list-panes ; list-panes", "nonce");
    queue.submit(request);
    let taken = 0;
    while (taken < count && queue.accept(reply(true, "x".repeat(length)))) taken++;
    expect(taken).toBeLessThan(count);
    queue.failAll("foreign");
    await expect(answer).rejects.toMatchObject({ kind: "unavailable" });
  });
});
