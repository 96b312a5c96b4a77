import { expect, it } from "vitest";
import { terminalSvg } from "./terminal-svg.ts";

it("draws each part of a line at its column, in its style", () => {
  const svg = terminalSvg("t", ["ab\x1b[32mcd\x1b[0m", "", "e"], 10);
  expect(svg).toContain(
    '<text y="48" xml:space="preserve"><tspan x="18.0">ab</tspan><tspan x="34.8" fill="#a5d66c">cd</tspan>',
  );
  expect(svg).toContain('<text y="86" xml:space="preserve"><tspan x="18.0">e</tspan></text>');
});

it("shows markup as text", () => {
  const svg = terminalSvg("<t>", ["<script>&amp;"], 20);
  expect(svg).toContain("<title>&lt;t&gt;</title>");
  expect(svg).toContain("&lt;script&gt;&amp;amp;");
  expect(svg).not.toContain("<script>");
});
