import { once } from "node:events";

interface Answer {
  readonly id?: number;
  readonly result?: { readonly usedSize: number; readonly backingStorageSize?: number };
}

/**
 * The live memory of a Node process after a full collection, MiB: its heap and the buffers that it holds.
 * @param port of its inspector on loopback (`--inspect=127.0.0.1:PORT`)
 */
export async function liveHeapMiB(port: number): Promise<number> {
  const listed = await fetch(`http://127.0.0.1:${port}/json/list`).then((answer) => answer.json());
  const [{ webSocketDebuggerUrl }] = listed as [{ readonly webSocketDebuggerUrl: string }];
  const socket = new WebSocket(webSocketDebuggerUrl);
  await once(socket, "open");
  try {
    // The second collection frees what the first one's finalizers released.
    for (const id of [1, 2]) await ask(socket, id, "HeapProfiler.collectGarbage");
    const { usedSize = 0, backingStorageSize = 0 } = (await ask(socket, 3, "Runtime.getHeapUsage")).result ?? {};
    return (usedSize + backingStorageSize) / 1024 / 1024;
  } finally {
    socket.close();
  }
}

async function ask(socket: WebSocket, id: number, method: string): Promise<Answer> {
  socket.send(JSON.stringify({ id, method }));
  for (;;) {
    const [{ data }] = (await once(socket, "message")) as [{ readonly data: string }];
    const answer = JSON.parse(data) as Answer;
    if (answer.id === id) return answer;
  }
}
