import { mkdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** A socket in front of PostgreSQL's that can lose an answer, or ignore LISTEN as a transaction pooler does. */
export class DatabaseProxy implements AsyncDisposable {
  /** The folder of its socket, for `TestDatabase.url`. */
  readonly folder: string;
  /** Cuts the next connection that commits, after the database's answer and before it is passed on. */
  cutsAtCommit = false;
  /** Another statement takes the place of LISTEN. */
  isDeaf = false;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(folder: string, target: string) {
    this.folder = folder;
    this.#server = createServer((near) => this.#pass(near, connect(join(target, ".s.PGSQL.5432"))));
  }

  /** `target`: the folder of the database's socket; `folder` is made. */
  static async open(folder: string, target: string): Promise<DatabaseProxy> {
    mkdirSync(folder, { recursive: true });
    const proxy = new DatabaseProxy(folder, target);
    await new Promise<void>((resolve) => proxy.#server.listen(join(folder, ".s.PGSQL.5432"), resolve));
    return proxy;
  }

  #pass(near: Socket, far: Socket): void {
    let isCut = false;
    for (const socket of [near, far]) {
      this.#open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on("data", (bytes) => {
      if (this.cutsAtCommit && bytes.includes("commit\0")) {
        this.cutsAtCommit = false;
        isCut = true;
      }
      const listens = this.isDeaf ? bytes.indexOf("listen threads_changes\0") : -1;
      if (listens >= 0) bytes.write("select 1 -- no changes", listens, "latin1");
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (isCut) near.destroy();
      else near.write(bytes);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
