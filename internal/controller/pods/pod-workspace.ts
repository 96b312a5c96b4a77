import type { V1Container, V1Volume } from "@kubernetes/client-node";
import { type AgentTemplate, WORKSPACE, type Workspace } from "./agent-template.ts";
import { hardened, literal, resourcesOf } from "./pod-parts.ts";

const CREDENTIALS = "/etc/gt/git";

/** Clones only once: after a node's restart the init container runs again and finds the clone. */
const CLONE = `set -eu
path=$1; shift
[ ! -e "$path/.git" ] || exit 0
exec git "$@" "$path"`;

export function workspaceVolumes(workspace: Workspace): V1Volume[] {
  if (workspace.type === "claim") {
    return [{ name: "workspace", persistentVolumeClaim: { claimName: workspace.claimName } }];
  }
  const volume: V1Volume = { name: "workspace", emptyDir: { sizeLimit: workspace.sizeLimit } };
  if (workspace.type === "empty-dir" || workspace.credentialsSecret === undefined) return [volume];
  return [volume, { name: "git", secret: { secretName: workspace.credentialsSecret, defaultMode: 0o440 } }];
}

/**
 * Init containers that prepare the workspace: they clone, or create the working folder. They get the environment
 * variables of the template (proxies, CAs for git), but none of its Secrets.
 * @param workdir `/workspace` or a folder below it
 */
export function workspaceContainers(template: AgentTemplate, workdir: string): V1Container[] {
  const { workspace } = template;
  if (workspace.type === "git") return [container(template, "clone", cloneCommand(workspace), workspace)];
  if (workdir === WORKSPACE) return [];
  return [container(template, "workspace", ["mkdir", "-p", "--", literal(workdir)], workspace)];
}

function cloneCommand(workspace: Extract<Workspace, { type: "git" }>): string[] {
  const { url, ref, depth, path, credentialsSecret } = workspace;
  const store =
    credentialsSecret === undefined ? [] : ["-c", `credential.helper=store --file=${CREDENTIALS}/credentials`];
  const range = [...(depth > 0 ? ["--depth", String(depth)] : []), ...(ref === undefined ? [] : ["--branch", ref])];
  const git = [...store, "clone", ...range, "--", url];
  return ["sh", "-c", CLONE, "clone", path, ...git].map(literal);
}

function container(template: AgentTemplate, name: string, command: string[], workspace: Workspace): V1Container {
  const credentials = workspace.type === "git" && workspace.credentialsSecret !== undefined;
  return {
    name,
    image: template.image,
    ...(template.imagePullPolicy !== undefined && { imagePullPolicy: template.imagePullPolicy }),
    command,
    env: Object.entries({ ...template.env, HOME: "/tmp", GIT_TERMINAL_PROMPT: "0" }).map(([variable, value]) => ({
      name: variable,
      value: literal(value),
    })),
    // The same as the agent's: the scheduler counts only the larger of the two, and a quota with limits requires one
    // for every container.
    resources: resourcesOf(template.resources),
    securityContext: hardened(),
    volumeMounts: [
      { name: "tmp", mountPath: "/tmp" },
      { name: "workspace", mountPath: WORKSPACE },
      ...(credentials ? [{ name: "git", mountPath: CREDENTIALS, readOnly: true }] : []),
    ],
  };
}
