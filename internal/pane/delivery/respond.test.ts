import { beforeEach, describe, expect, it } from "vitest";
import { FakePane, fakeProfile } from "../../../test/fakes/fake-pane.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { answerByArrows, VERTICAL } from "../../agents/answer-by-arrows.ts";
import type { AgentProfile, DialogView } from "../../agents/profile.ts";
import { DomainError } from "../../base/errors.ts";
import type { RespondRequest } from "../../session/types.ts";
import { dialogFrom } from "../state/dialog.ts";
import { type KeyWriter, respond } from "./respond.ts";

const { signal } = new AbortController();
const LIST = { ...VERTICAL, asksText: /^Type/, textField: "inline" } as const;

/** An agent with a dialog open: arrows move, text goes into the last choice, Enter gives the selected one. */
class Asking implements KeyWriter {
  readonly clock = new FakeClock();
  readonly pane = new FakePane(this.clock);
  readonly keys: string[] = [];
  /** Labels that were given. */
  readonly given: string[] = [];
  presses = 0;
  alive = true;
  labels = ["Yes", "Always", "No", "Type something"];
  unclear: string | undefined;
  kind: DialogView["kind"] = "permission";
  title = "Run it?";
  text = "rm x";
  #selected = 0;
  /** Replaces the default effect of a key. */
  onKey: (key: string, byDefault: () => void) => void = (_, byDefault) => byDefault();
  onGiven: () => void = () => this.pane.show({ busy: "working" });

  get dialog(): DialogView {
    const choices = this.labels.map((label, i) => ({ key: String(i + 1), label, selected: i === this.#selected }));
    const shown = { kind: this.kind, title: this.title, text: [this.text, ...this.labels].join("\n") };
    return this.unclear === undefined ? { ...shown, choices } : { ...shown, choices: [], unclear: this.unclear };
  }

  get id(): string {
    return dialogFrom(this.dialog, 0).id;
  }

  draw(): void {
    this.pane.show({ dialog: this.dialog });
  }

  sendKeys([key = ""]: readonly string[]): Promise<"sent" | "refused"> {
    return this.#press(key, () => {
      this.#selected += key === "Down" ? 1 : -1;
      this.draw();
    });
  }

  sendText(text: string): Promise<"sent" | "refused"> {
    return this.#press(text === "\r" ? "Enter" : text, () => {
      if (text === "\r") {
        this.given.push(this.labels[this.#selected] ?? "");
        this.onGiven();
      } else {
        this.labels[this.#selected] = text;
        this.draw();
      }
    });
  }

  async #press(key: string, byDefault: () => void): Promise<"sent" | "refused"> {
    if (!this.alive) return "refused";
    this.keys.push(key);
    this.onKey(key, byDefault);
    return "sent";
  }
}

let agent: Asking;
let profile: AgentProfile;
beforeEach(() => {
  agent = new Asking();
  profile = { ...fakeProfile(agent.pane), answer: (...asked) => answerByArrows(LIST, ...asked) };
  agent.draw();
});

function answered(change: Partial<RespondRequest> = {}) {
  const { clock, pane } = agent;
  const alive = () => agent.alive;
  const onPress = () => agent.presses++;
  const request = { dialogId: agent.id, choice: "3", requestId: "", ...change };
  return clock.until(respond({ clock, writer: agent, source: pane, profile, alive, onPress }, request, signal), 60_000);
}

const values = (result: Awaited<ReturnType<typeof answered>>) => result.evidence.map((one) => one.value);

describe("an answer", () => {
  it("moves to the choice, presses Enter once, and sees the dialog close", async () => {
    const result = await answered();
    expect(result.outcome).toBe("answered");
    expect(values(result)).toEqual(["the dialog has closed", "the agent is working"]);
    expect([agent.keys, agent.given, agent.presses]).toEqual([["Down", "Down", "Enter"], ["No"], 1]);
  });

  it("waits before each key until the previous one has shown its effect", async () => {
    agent.onKey = (_, byDefault) => agent.pane.after(500, byDefault);
    expect((await answered()).outcome).toBe("answered");
    expect(agent.given).toEqual(["No"]);
  });

  it("does not touch a dialog that may have opened a moment ago", async () => {
    const began = agent.clock.monotonicMs();
    let pressedAt = 0;
    agent.onKey = (_, byDefault) => {
      pressedAt ||= agent.clock.monotonicMs();
      byDefault();
    };
    await answered();
    expect(pressedAt - began).toBeGreaterThanOrEqual(300);
  });

  it("types a text and presses Enter only after the dialog shows it", async () => {
    const result = await answered({ choice: "", text: "no, use /tmp/x" });
    expect(result.outcome).toBe("answered");
    expect(agent.given).toEqual(["no, use /tmp/x"]);
    expect(agent.keys).toEqual(["Down", "Down", "Down", "no, use /tmp/x", "Enter"]);
  });

  it("never presses Enter on a choice other than the requested one", async () => {
    agent.onKey = (key, byDefault) => (key === "Down" ? undefined : byDefault());
    const result = await answered();
    expect(result.outcome).toBe("unknown");
    expect(values(result)).toEqual(["the selection did not follow the keys; nothing was chosen"]);
    expect([agent.keys, agent.given]).toEqual([["Down"], []]);
  });

  it("never presses Enter on a text that the dialog does not show", async () => {
    agent.onKey = (key, byDefault) => (key === "mauve" ? undefined : byDefault());
    expect((await answered({ choice: "4", text: "mauve" })).outcome).toBe("unknown");
    expect(agent.given).toEqual([]);
  });

  it("follows a list whose text changes with the selection, if the answer is harmless", async () => {
    agent.kind = "theme";
    agent.draw();
    const { id: dialogId } = agent;
    agent.onKey = (key, byDefault) => {
      agent.text = `preview after ${key}`;
      byDefault();
    };
    expect((await answered({ dialogId })).outcome).toBe("answered");
    expect(agent.given).toEqual(["No"]);
  });

  it("is uncertain while the dialog stays, and does not press again", async () => {
    agent.onGiven = () => agent.draw();
    const result = await answered({ choice: "1" });
    expect([result.outcome, agent.keys]).toEqual(["unknown", ["Enter"]]);
  });

  it.each([{ labels: ["Yes", "Always"] }, { title: "Run" }])(
    "ignores a part of it that stays a while: %j",
    async (rest) => {
      agent.onGiven = () => {
        Object.assign(agent, rest);
        agent.draw();
        agent.pane.after(700, () => agent.pane.show({}));
      };
      expect(await answered()).toMatchObject({ outcome: "answered" });
    },
  );

  it("reports another dialog at once if nothing of it is like the one it answered", async () => {
    let givenAt = 0;
    agent.onGiven = () => {
      givenAt = agent.clock.monotonicMs();
      [agent.title, agent.labels] = ["Which colour?", ["Red", "Blue"]];
      agent.draw();
    };
    expect(await answered()).toMatchObject({ outcome: "changed" });
    expect(agent.clock.monotonicMs() - givenAt).toBeLessThan(200);
  });

  it("reports that another dialog has replaced it, but ignores partial screens in between", async () => {
    agent.onGiven = () => {
      agent.text = "half dra";
      agent.draw();
      agent.pane.after(30, () => {
        agent.text = "rm y";
        agent.draw();
      });
    };
    expect(await answered()).toMatchObject({ outcome: "changed" });
    agent = new Asking();
    profile = { ...profile, view: () => agent.pane.view };
    agent.draw();
    agent.onGiven = () => {
      agent.text = "half dra";
      agent.draw();
      agent.pane.after(30, () => agent.pane.show({}));
    };
    expect(await answered()).toMatchObject({ outcome: "answered" });
  });

  it("recognises a dialog that marks the given choice before it closes as the same one", async () => {
    agent.onGiven = () => {
      agent.labels[0] = "Yes ✔";
      agent.draw();
      agent.pane.after(400, () => agent.pane.show({}));
    };
    expect(await answered({ choice: "1" })).toMatchObject({ outcome: "answered" });
  });

  it("counts the agent's end as the dialog's end", async () => {
    agent.onGiven = () => {
      agent.alive = false;
    };
    expect(values(await answered({ choice: "1" }))).toEqual(["the agent ended"]);
  });

  it("is uncertain if tmux goes away at a key", async () => {
    agent.onKey = () => {
      throw new DomainError("unavailable", "away");
    };
    expect((await answered()).outcome).toBe("unknown");
  });
});

describe("the choice that the program shows after the answer", () => {
  it("proves the named choice", async () => {
    profile = {
      ...profile,
      shownAnswer: (_screen, dialog, given) => (dialog.choices[2]?.label === given ? "named" : "other"),
    };
    const result = await answered();
    expect([result.outcome, values(result)[1]]).toEqual(["answered", "the agent shows the choice as taken"]);
  });

  it("makes the answer uncertain if it is another", async () => {
    profile = { ...profile, shownAnswer: () => "other" };
    const result = await answered();
    expect(result.outcome).toBe("unknown");
    expect(values(result)).toEqual(["the dialog has closed, but the agent shows that another choice was taken"]);
  });
});

describe("a dialog whose choices cannot be read with certainty", () => {
  it("is not answered, and no key is pressed", async () => {
    agent.unclear = "its choices are not numbered from 1 without a gap";
    agent.draw();
    const result = await answered({ choice: "1" });
    expect([result.outcome, agent.keys, agent.presses]).toEqual(["unknown", [], 0]);
    expect(values(result)).toEqual([
      "nothing was pressed: its choices cannot be read with certainty: its choices are not numbered from 1 without a gap",
    ]);
  });

  it("is not confirmed if it becomes unreadable on the way to the choice", async () => {
    const { id: dialogId } = agent;
    agent.kind = "theme";
    agent.draw();
    agent.onKey = (_, byDefault) => {
      byDefault();
      agent.unclear = "not exactly one of its choices is selected";
      agent.draw();
    };
    await expect(answered({ dialogId: dialogId === agent.id ? dialogId : agent.id })).rejects.toMatchObject({
      kind: "precondition",
    });
    expect([agent.keys, agent.given]).toEqual([["Down"], []]);
  });
});

it("a choice with the requested key but another label is not confirmed", async () => {
  agent.kind = "picker";
  agent.draw();
  agent.onKey = (key, byDefault) => {
    byDefault();
    if (key === "Enter") return;
    agent.labels[2] = "Yes, always";
    agent.draw();
  };
  const result = await answered({ choice: "3" }).catch((err: unknown) => err);
  expect(result).toMatchObject({ kind: "precondition" });
  expect(agent.given).toEqual([]);
});

describe("no key is pressed", () => {
  it.each<[string, () => void, string]>([
    ["without a dialog", () => agent.pane.show({}), ""],
    [
      "for another dialog",
      () => {
        agent.text = "rm -rf /";
        agent.draw();
      },
      "now",
    ],
  ])("%s, and the error names the open dialog", async (_, change, named) => {
    const { id: dialogId } = agent;
    change();
    await expect(answered({ dialogId })).rejects.toMatchObject({
      kind: "precondition",
      fields: { dialog_id: named === "" ? "" : agent.id },
    });
    expect([agent.keys, agent.presses]).toEqual([[], 0]);
  });

  it("into a dialog that opens while the first one gets its moment", async () => {
    const { id: dialogId } = agent;
    agent.pane.after(100, () => {
      agent.text = "rm -rf /";
      agent.draw();
    });
    await expect(answered({ dialogId })).rejects.toMatchObject({ kind: "precondition" });
    expect(agent.keys).toEqual([]);
  });

  it.each([
    ["for a choice it does not have", { choice: "9" }, "invalid"],
    ["for a text it does not ask for", { choice: "1", text: "x" }, "invalid"],
  ])("%s", async (_, change, kind) => {
    await expect(answered(change)).rejects.toMatchObject({ kind, fields: { choices: "1 2 3 4" } });
    expect(agent.keys).toEqual([]);
  });

  it("in a program whose dialogs are unknown", async () => {
    const { answer: _, ...unknown } = profile;
    profile = unknown;
    await expect(answered()).rejects.toMatchObject({ kind: "unimplemented" });
  });

  it("on a dead agent", async () => {
    agent.alive = false;
    await expect(answered()).rejects.toMatchObject({ kind: "precondition" });
  });
});

describe("a dialog that changes while the selection is moved", () => {
  it.each<[string, () => void]>([
    ["closes", () => agent.pane.show({})],
    [
      "gives way to another command of the same kind",
      () => {
        agent.text = "rm -rf /";
        agent.draw();
      },
    ],
  ])("%s: nothing is confirmed, and the answer says so", async (_, change) => {
    const { id: dialogId } = agent;
    agent.onKey = change;
    await expect(answered({ dialogId })).rejects.toMatchObject({ kind: "precondition" });
    expect([agent.keys, agent.given]).toEqual([["Down"], []]);
  });
});
