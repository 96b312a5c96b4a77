import { Client as ClientOf2, StreamableHTTPClientTransport as HttpOf2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioOf2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientOf1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioOf1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpOf1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as TransportOf1 } from "@modelcontextprotocol/sdk/shared/transport.js";

/** How a client reaches the tools: with a token at a URL, or over a program's standard streams. */
export type McpTransport =
  | { readonly url: string; readonly token: string }
  | { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };

export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

interface ListedTool {
  readonly name: string;
  readonly outputSchema?: { readonly properties?: Readonly<Record<string, object>> };
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean };
}

/** An official MCP client, which checks each answer against the tool's published schema. */
export interface EraClient extends AsyncDisposable {
  /** The revision that was agreed upon. */
  readonly revision: string | undefined;
  /** Clients check the answers of tools that they have listed. */
  listTools(): Promise<readonly ListedTool[]>;
  callTool(name: string, args: object): Promise<ToolResult>;
  resources(): Promise<{ readonly uris: readonly string[]; readonly templates: readonly string[] }>;
  /** The text of the resource's only part. */
  readResource(uri: string): Promise<string>;
  /** Whether the server says that it has subscriptions to resources for this client. */
  readonly canSubscribe: boolean;
  /** Reports changes of these resources from now on. @throws an Error if the era has no subscriptions */
  listen(uris: readonly string[], heard: (uri: string) => void): Promise<void>;
}

export type Era = "2.4 auto" | "2.4 legacy" | "1.x";

/** Resolves once the client has connected. */
export async function eraClient(era: Era, way: McpTransport): Promise<EraClient> {
  return era === "1.x" ? await clientOf1(way) : await clientOf2(way, era === "2.4 auto" ? "auto" : "legacy");
}

const INFO = { name: "test", version: "1" };

/** Does not reuse a connection that the server has closed while the machine was busy. */
function httpOf(token: string) {
  return { requestInit: { headers: { authorization: `Bearer ${token}`, connection: "close" } } };
}

function programOf(way: Extract<McpTransport, { command: string }>) {
  return { command: way.command, args: [...way.args], env: { ...way.env }, stderr: "inherit" as const };
}

async function clientOf2(way: McpTransport, mode: "auto" | "legacy"): Promise<EraClient> {
  const client = new ClientOf2(INFO, { versionNegotiation: { mode } });
  const transport = "url" in way ? new HttpOf2(new URL(`${way.url}/v1/mcp`), httpOf(way.token)) : undefined;
  await client.connect(transport ?? new StdioOf2(programOf(way as Extract<McpTransport, { command: string }>)));
  return {
    ...sharedBy(client as never),
    revision: client.getNegotiatedProtocolVersion(),
    canSubscribe: client.getServerCapabilities()?.resources?.subscribe === true,
    listen: async (uris, heard) => {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => heard(params.uri));
      await client.listen({ resourceSubscriptions: [...uris] });
    },
  };
}

async function clientOf1(way: McpTransport): Promise<EraClient> {
  const client = new ClientOf1(INFO);
  const transport =
    "url" in way ? new HttpOf1(new URL(`${way.url}/v1/mcp`), httpOf(way.token)) : new StdioOf1(programOf(way));
  await client.connect(transport as TransportOf1);
  return {
    ...sharedBy(client as never),
    revision: transport instanceof HttpOf1 ? transport.protocolVersion : undefined,
    canSubscribe: client.getServerCapabilities()?.resources?.subscribe === true,
    listen: async ([uri = ""]) => void (await client.subscribeResource({ uri })),
  };
}

/** The methods that the clients of both packages have in common. */
interface Common {
  listTools(): Promise<{ readonly tools: readonly ListedTool[] }>;
  callTool(call: { readonly name: string; readonly arguments: object }): Promise<ToolResult>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>;
  listResourceTemplates(): Promise<{ readonly resourceTemplates: readonly { readonly uriTemplate: string }[] }>;
  readResource(of: { readonly uri: string }): Promise<{ readonly contents: readonly { readonly text?: string }[] }>;
  close(): Promise<void>;
}

function sharedBy(client: Common) {
  return {
    listTools: async () => (await client.listTools()).tools,
    callTool: async (name: string, args: object) => await client.callTool({ name, arguments: args }),
    resources: async () => ({
      uris: (await client.listResources()).resources.map(({ uri }) => uri),
      templates: (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    }),
    readResource: async (uri: string) => (await client.readResource({ uri })).contents[0]?.text ?? "",
    [Symbol.asyncDispose]: async () => await client.close(),
  };
}
