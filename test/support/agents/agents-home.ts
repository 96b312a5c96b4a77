import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type AgentKind = "claude" | "codex" | "opencode";

export interface AgentHomeOptions {
  readonly agent: AgentKind;
  /** An empty folder of the test; the agent's home is below it. */
  readonly dir: string;
  /** Address of the model server, without a path. */
  readonly modelUrl: string;
  /**
   * `fresh`: nothing is set up, so that the first-start dialogs appear. `untrusted`: set up, but the folder is unknown.
   */
  readonly state?: "ready" | "untrusted" | "fresh" | undefined;
}

export interface AgentHome {
  readonly home: string;
  /** The folder to start the agent in. */
  readonly workdir: string;
  /** The agent's whole environment: of the caller's it contains only PATH, LANG and TERM. */
  readonly env: Readonly<Record<string, string>>;
}

const DUMMY_KEY = "sk-ant-api03-pretended-key-for-tests-0123456789abcdefghijklmnopqrstuv";

/** Private folders and an environment in which a real agent talks only to the model server on loopback. */
export async function makeAgentHome(options: AgentHomeOptions): Promise<AgentHome> {
  const home = join(options.dir, "home");
  const workdir = join(options.dir, "proj");
  await mkdir(home, { recursive: true, mode: 0o700 });
  const tmp = join(home, "tmp");
  await mkdir(tmp, { mode: 0o700 });
  await mkdir(workdir, { recursive: true });
  const common = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    LANG: "C.UTF-8",
    HOME: home,
    TMPDIR: tmp, // two of the agents unpack 13 MB of libraries there at every start
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local", "share"),
    XDG_CACHE_HOME: join(home, ".cache"),
    XDG_STATE_HOME: join(home, ".local", "state"),
  };
  const own = await AGENTS[options.agent](home, workdir, options);
  return { home, workdir, env: { ...common, ...own } };
}

type Setup = (home: string, workdir: string, options: AgentHomeOptions) => Promise<Record<string, string>>;

const setUpClaude: Setup = async (home, workdir, options) => {
  const state = options.state ?? "ready";
  const project = state === "ready" ? { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } : {};
  const config = {
    hasCompletedOnboarding: true,
    theme: "dark",
    numStartups: 20,
    lastOnboardingVersion: "2.1.330",
    customApiKeyResponses: { approved: [DUMMY_KEY.slice(-20)], rejected: [] },
    projects: { [workdir]: project },
  };
  if (state !== "fresh") await writeFile(join(home, ".claude.json"), JSON.stringify(config), { mode: 0o600 });
  return {
    ANTHROPIC_BASE_URL: options.modelUrl,
    ANTHROPIC_API_KEY: DUMMY_KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
  };
};

const setUpCodex: Setup = async (home, workdir, options) => {
  const state = options.state ?? "ready";
  const codexHome = join(home, ".codex");
  await mkdir(codexHome, { recursive: true, mode: 0o700 });
  const trust = state === "ready" ? `[projects.${JSON.stringify(workdir)}]\ntrust_level = "trusted"\n` : "";
  const provider = `model = "pretended"
model_provider = "loopback"
check_for_update_on_startup = false
approval_policy = "on-request"
sandbox_mode = "read-only"

[model_providers.loopback]
name = "loopback"
base_url = "${options.modelUrl}/v1"
wire_api = "responses"

[analytics]
enabled = false

`;
  await writeFile(join(codexHome, "config.toml"), state === "fresh" ? "" : provider + trust, { mode: 0o600 });
  return { CODEX_HOME: codexHome };
};

const setUpOpencode: Setup = async (home, _workdir, options) => {
  const folder = join(home, ".config", "opencode");
  await mkdir(join(folder, "node_modules"), { recursive: true, mode: 0o700 });
  // OpenCode installs its plugins' library, some 100 MB from the network, before it draws its first screen; a lock file
  // that names the library avoids that.
  const lock = { packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } };
  await writeFile(join(folder, "package-lock.json"), JSON.stringify(lock), { mode: 0o600 });
  await writeEmptyModelList(home);
  const config = {
    autoupdate: false,
    share: "disabled",
    model: "loopback/pretended",
    small_model: "loopback/pretended",
    permission: { bash: "ask", edit: "ask" },
    provider: {
      loopback: {
        npm: "@ai-sdk/openai-compatible",
        name: "Loopback",
        options: { baseURL: `${options.modelUrl}/v1`, apiKey: "pretended" },
        models: { pretended: { name: "Pretended", limit: { context: 100_000, output: 8_000 } } },
      },
    },
  };
  if (options.state !== "fresh")
    await writeFile(join(folder, "opencode.json"), JSON.stringify(config), { mode: 0o600 });
  return {
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  };
};

/**
 * Replaces OpenCode's built-in list of all providers' models, which takes half of the processor time of its start and
 * first turn, with an empty one. The models of its configuration stay.
 */
export async function writeEmptyModelList(home: string): Promise<void> {
  const cache = join(home, ".cache", "opencode");
  await mkdir(cache, { recursive: true, mode: 0o700 });
  await writeFile(join(cache, "models.json"), "{}");
}

const AGENTS: Readonly<Record<AgentKind, Setup>> = { claude: setUpClaude, codex: setUpCodex, opencode: setUpOpencode };
