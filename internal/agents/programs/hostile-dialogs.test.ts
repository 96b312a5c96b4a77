import { describe, expect, it } from "vitest";
import { seeded } from "../../../bench/stats.ts";
import { hostileLine, hostileLines } from "../../../test/lab/dialogs/hostile-texts.ts";
import * as draw from "../../../test/support/agents/drawn-dialogs.ts";
import { fc } from "../../../test/support/property.ts";
import type { DialogKind, DialogView } from "../profile.ts";
import type { Screen } from "../screen.ts";
import { profileNamed } from "./registry.ts";

interface Drawing {
  readonly name: string;
  readonly profile: string;
  readonly kind: DialogKind;
  readonly draw: (dialog: draw.DrawnDialog) => Screen;
  /** The program's own labels of its choices; `undefined`: the choice shows the model's words. */
  readonly labels: readonly (string | undefined)[];
  readonly describes: boolean;
}

const DRAWINGS: readonly Drawing[] = [
  {
    name: "a permission of Claude Code",
    profile: "claude",
    kind: "permission",
    draw: draw.claudePermission,
    labels: ["Yes", undefined, "No"],
    describes: false,
  },
  {
    name: "a question of Claude Code",
    profile: "claude",
    kind: "question",
    draw: draw.claudeQuestion,
    labels: [undefined, undefined, "Type something.", "Chat about this"],
    describes: true,
  },
  {
    name: "a permission of Codex",
    profile: "codex",
    kind: "permission",
    draw: draw.codexPermission,
    labels: ["Yes, proceed (y)", undefined, "No, and tell Codex what to do differently (esc)"],
    describes: true,
  },
  {
    name: "a permission of OpenCode",
    profile: "opencode",
    kind: "permission",
    draw: draw.opencodePermission,
    labels: ["Allow once", "Allow always", "Reject"],
    describes: false,
  },
  {
    name: "a question of OpenCode",
    profile: "opencode",
    kind: "question",
    draw: draw.opencodeQuestion,
    labels: [undefined, undefined, "Type your own answer"],
    describes: true,
  },
];

function drawn({ labels, describes }: Drawing, seed: number): draw.DrawnDialog {
  const random = seeded(seed);
  return {
    quoted: hostileLines(random, 14).map((text) => text.slice(0, 100)),
    labels: labels.map((label) => label ?? hostileLine(random).slice(0, 60)),
    descriptions: describes && random() < 0.7 ? hostileLines(random, 3).map((text) => text.slice(0, 90)) : [],
    selected: Math.floor(random() * labels.length),
  };
}

const shape = (dialog: DialogView | undefined) =>
  dialog?.choices.map(({ key, label, selected }) => [key, label, selected]);

describe.each(DRAWINGS)("$name that quotes dialogs", (drawing) => {
  it("shows exactly the choices that the program drew", () => {
    const { view } = profileNamed(drawing.profile);
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const dialog = drawn(drawing, seed);
        const seen = view(drawing.draw(dialog)).dialog;
        expect(seen?.kind).toBe(drawing.kind);
        expect(seen?.unclear).toBeUndefined();
        expect(shape(seen)).toEqual(dialog.labels.map((label, i) => [String(i + 1), label, i === dialog.selected]));
      }),
      { numRuns: 1000 },
    );
  });

  it("is not answered if no choice is selected", () => {
    const { view, answer } = profileNamed(drawing.profile);
    const dialog = { ...drawn(drawing, 1), selected: -1 };
    const seen = view(drawing.draw(dialog)).dialog;
    expect(seen?.choices).toEqual([]);
    expect(seen === undefined ? undefined : answer?.(seen, "1", undefined).type).toBe("unsure");
  });
});

describe("a command that looks like a list", () => {
  const quoted = ["1. Reject", "2. Allow once"];

  it("does not replace the buttons of OpenCode", () => {
    const labels = ["Allow once", "Allow always", "Reject"];
    const seen = profileNamed("opencode").view(
      draw.opencodePermission({ quoted, labels, descriptions: [], selected: 0 }),
    );
    expect(shape(seen.dialog)).toEqual([
      ["1", "Allow once", true],
      ["2", "Allow always", false],
      ["3", "Reject", false],
    ]);
  });

  it("does not replace the second row of a Codex choice", () => {
    const labels = ["Yes, proceed (y)", "Yes, and don't ask again for commands that start with", "No (esc)"];
    const screen = draw.codexPermission({ quoted, labels, descriptions: ["1. No`", "2. Yes"], selected: 0 });
    expect(shape(profileNamed("codex").view(screen).dialog)?.map(([, label]) => label)).toEqual(labels);
  });
});

it("a Codex dialog without its last choice is not answered", () => {
  const { view, answer } = profileNamed("codex");
  const labels = ["Yes, proceed (y)", "Yes, and don't ask again for commands that start with `./run-all`"];
  const whole = draw.codexPermission({ quoted: [], labels, descriptions: ["(p)"], selected: 0 });
  const keys = whole.lines.length - 1;
  const cut = { ...whole, lines: whole.lines.filter((_, row) => row !== keys - 1) };
  expect(view(whole).dialog?.choices).toHaveLength(2);
  expect(view(cut).dialog).toMatchObject({ kind: "permission", choices: [], unclear: expect.stringMatching(/cut/) });
  const seen = view(cut).dialog;
  expect(seen === undefined ? undefined : answer?.(seen, "1", undefined).type).toBe("unsure");
});
