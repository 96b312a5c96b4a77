// A prompt made with Ink as many are: every key through useInput, no bracketed paste. Appends what was submitted to the
// file named in its first argument, one base64 line each.
import { appendFileSync } from "node:fs";
import { Box, render, Text, useInput } from "ink";
import { createElement, useState } from "react";

const file = process.argv[2] ?? "";

function App() {
  const [draft, setDraft] = useState("");
  const [last, setLast] = useState("");
  useInput((input, key) => {
    if (key.return) {
      if (draft === "") return;
      appendFileSync(file, `${Buffer.from(draft).toString("base64")}\n`);
      setLast(draft);
      setDraft("");
    } else if (key.backspace || key.delete) setDraft((text) => text.slice(0, -1));
    else if (!key.ctrl && !key.meta && input !== "") setDraft((text) => text + input);
  });
  return createElement(
    Box,
    { flexDirection: "column" },
    createElement(Text, { dimColor: true }, last === "" ? "nothing yet" : `taken: ${last.slice(0, 40)}`),
    createElement(Box, { borderStyle: "round" }, createElement(Text, null, `> ${draft}`)),
  );
}

render(createElement(App));
