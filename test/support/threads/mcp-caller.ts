import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

type Fields = Record<string, unknown>;

/** The official MCP client with one token. */
export class McpCaller implements AsyncDisposable {
  readonly client: Client;

  private constructor(client: Client) {
    this.client = client;
  }

  /** `pin`: the revision of the protocol; default: the revision of clients of 2025. */
  static async connect(url: string, token: string, pin?: string): Promise<McpCaller> {
    const era = pin === undefined ? {} : { versionNegotiation: { mode: { pin } } };
    const client = new Client({ name: "test", version: "1" }, era);
    // Prevents the reuse of a connection that the server has closed while the machine was busy.
    const requestInit = { headers: { authorization: `Bearer ${token}`, connection: "close" } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/v1/mcp`), { requestInit }));
    return new McpCaller(client);
  }

  /** The tool's answer. @throws Error with the code of a failure */
  async call<T = Fields>(name: string, args: object = {}): Promise<T> {
    const result = await this.client.callTool({ name, arguments: { ...args } });
    if (result.isError !== true) return result.structuredContent as T;
    const error = (result._meta as { "gastown.io/error": { code: string; message: string } })["gastown.io/error"];
    throw Object.assign(new Error(`${error.code}: ${error.message}`), error);
  }

  /** The code of the failure that a call must have. */
  async code(name: string, args: object = {}): Promise<string> {
    try {
      await this.call(name, args);
      return "none";
    } catch (err) {
      return (err as { code: string }).code;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}
