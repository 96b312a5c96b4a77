import { connect, constants } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { startRpcServer } from "../support/bridge/rpc-server.ts";

/** A gRPC message that asks for the list of services. */
const LIST_SERVICES = Buffer.from([0, 0, 0, 0, 2, 0x3a, 0]);

it.each(["its stream", "its connection"])(
  "a client that cuts %s during reflection is not logged as a bug",
  async (what) => {
    await using fixture = await startRpcServer();
    const session = connect(fixture.url);
    session.on("error", () => {});
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      "content-type": "application/grpc",
    });
    stream.on("error", () => {});
    stream.write(LIST_SERVICES);
    await new Promise((resolve) => stream.once("data", resolve));
    if (what === "its stream") stream.close(constants.NGHTTP2_CANCEL);
    else session.destroy();
    await sleep(200);
    session.destroy();
    expect(fixture.log.filter((line) => /bug|could not be answered/.test(line))).toEqual([]);
  },
);
