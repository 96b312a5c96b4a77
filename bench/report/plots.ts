import type { AllResults, Measured } from "./row.ts";

interface Bar {
  readonly label: string;
  readonly row: RegExp;
}

export interface Plot {
  readonly title: string;
  /** A path below bench/plots. */
  readonly file: string;
  readonly from: string;
  readonly value: string;
  readonly baseline: string;
  readonly bars: readonly Bar[];
}

export const PLOTS: readonly Plot[] = [
  {
    title: "From the message to its receipt, median",
    file: "receipts.svg",
    from: "nudge",
    value: "Nudge",
    baseline: "send-keys, 500 ms, Enter",
    bars: [
      { label: "demo agent", row: /^nudge, demo agent: answer, p50$/ },
      { label: "Claude Code", row: /^nudge, Claude Code [\d.]+: answer, p50$/ },
      { label: "Codex", row: /^nudge, Codex [\d.]+: answer, p50$/ },
    ],
  },
  {
    title: "CPU for each KiB delivered to a watcher, mTLS",
    file: "watchers.svg",
    from: "watchers",
    value: "frames shared",
    baseline: "a message made for each",
    bars: [
      { label: "100, 10 connections", row: /^100 watchers, 10 connections, mTLS, connect: CPU/ },
      { label: "100, one each", row: /^100 watchers, 100 connections, mTLS, connect: CPU/ },
      { label: "500, 10 connections", row: /^500 watchers, 10 connections, mTLS, connect: CPU/ },
      { label: "500, one each", row: /^500 watchers, 500 connections, mTLS, connect: CPU/ },
    ],
  },
  {
    title: "Output of a flood that reaches a reader",
    file: "output.svg",
    from: "output",
    value: "one RAW watcher",
    baseline: "pipe-pane into a bare reader",
    bars: [{ label: "MB a second", row: /^output: one RAW watcher/ }],
  },
  {
    title: "Memory of an idle sidecar, anonymous",
    file: "memory.svg",
    from: "start",
    value: "gt-sidecar",
    baseline: "as many bare Node processes",
    bars: [
      { label: "both halves", row: /^memory, idle: both halves/ },
      { label: "serving half", row: /^memory, idle: serving half/ },
      { label: "supervising half", row: /^memory, idle: supervising half/ },
    ],
  },
];

/** Draws each plot that has figures: path from the root, and the SVG. */
export function drawPlots(all: AllResults): readonly (readonly [path: string, svg: string])[] {
  return PLOTS.map((plot) => [`bench/plots/${plot.file}`, svgOf(plot, all.get(plot.from)?.rows ?? [])]);
}

const WIDTH = 640;
const LEFT = 170;
const SPAN = 340;
const BAR = 14;
const GROUP = 2 * BAR + 16;
const TOP = 62;

function svgOf(plot: Plot, rows: readonly Measured[]): string {
  const found = plot.bars.flatMap(({ label, row }) => {
    const measured = rows.find(({ name }) => row.test(name));
    return measured === undefined ? [] : [{ label, measured }];
  });
  const most = Math.max(...found.map(({ measured }) => Math.max(measured.value, measured.baseline ?? 0)));
  const groups = found.map(({ label, measured }, at) => groupOf(label, measured, TOP + at * GROUP, SPAN / most));
  const height = TOP + found.length * GROUP + 4;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${plot.title}">`,
    "<style>text{font:12px sans-serif;fill:#24292f}.t{font-weight:600;font-size:14px}.v{fill:#1a7f64}.b{fill:#8c959f}.bg{fill:#fff}</style>",
    `<rect class="bg" width="${WIDTH}" height="${height}"/>`,
    `<text class="t" x="12" y="22">${plot.title}</text>`,
    `<rect class="v" x="12" y="34" width="10" height="10"/><text x="28" y="43">${plot.value}</text>`,
    `<rect class="b" x="212" y="34" width="10" height="10"/><text x="228" y="43">${plot.baseline}</text>`,
    ...groups,
    "</svg>",
    "",
  ].join("\n");
}

function groupOf(label: string, { value, baseline, unit }: Measured, y: number, scale: number): string {
  const bar = (kind: string, figure: number, at: number) =>
    `<rect class="${kind}" x="${LEFT}" y="${at}" width="${Math.max(1, figure * scale).toFixed(1)}" height="${BAR - 2}"/>` +
    `<text x="${(LEFT + figure * scale + 6).toFixed(1)}" y="${at + BAR - 4}">${Number(figure.toPrecision(3))} ${unit}</text>`;
  const name = `<text x="${LEFT - 8}" y="${y + BAR + 3}" text-anchor="end">${label}</text>`;
  return [name, bar("v", value, y), ...(baseline === null ? [] : [bar("b", baseline, y + BAR)])].join("\n");
}
