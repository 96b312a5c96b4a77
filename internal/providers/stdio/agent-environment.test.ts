import { expect, it } from "vitest";
import { demoDialect } from "../dialects/demo-dialect.ts";
import { agentEnvironment } from "./agent-environment.ts";

const dialect = {
  ...demoDialect,
  environment: { names: ["OPENAI_API_KEY"], prefixes: ["CLAUDE_"] },
  unset: ["CLAUDE_CODE_SESSION_ID"],
  set: { DISABLE_AUTOUPDATER: "1" },
};

it("passes on the listed variables and those that the program requires, and no others", () => {
  const own = {
    ...{ PATH: "/bin", HOME: "/home/a", LC_ALL: "C", XDG_CONFIG_HOME: "/x", https_proxy: "http://p" },
    ...{ OPENAI_API_KEY: "k", CLAUDE_CONFIG_DIR: "/c", CLAUDE_CODE_SESSION_ID: "outer" },
    ...{ TMUX: "t", TMUX_PANE: "%1", GT_TOKEN: "s", BRIDGE_CA_PASSPHRASE: "s", LD_PRELOAD: "x", NODE_OPTIONS: "y" },
    EMPTY: undefined,
  };
  expect(agentEnvironment(dialect, own)).toEqual({
    ...{ PATH: "/bin", HOME: "/home/a", LC_ALL: "C", XDG_CONFIG_HOME: "/x", https_proxy: "http://p" },
    ...{ OPENAI_API_KEY: "k", CLAUDE_CONFIG_DIR: "/c", DISABLE_AUTOUPDATER: "1" },
  });
});
