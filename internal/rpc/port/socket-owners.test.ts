import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { ownerIn, SocketOwners } from "./socket-owners.ts";

const HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (from: string, to: string, { state = "01", uid = 1000, inode = 77 } = {}) =>
  `   1: ${from} ${to} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000 20 4 30 10 -1\n`;

const SERVER = "0100007F:2382";
const CLIENT = "0100007F:C350";
const ends = { server: { host: "127.0.0.1", port: 9090 }, client: { host: "127.0.0.1", port: 50_000 } };
const MAPPED = "0000000000000000FFFF0000";
const V6 = "00000000000000000000000001000000";
const own = row(SERVER, CLIENT, { uid: 7 });

it.each([
  ["over IPv4", HEAD + own + row(CLIENT, SERVER), ends],
  ["from a socket for IPv6", HEAD + own + row(MAPPED + CLIENT, MAPPED + SERVER), ends],
  [
    "with an address that the server's socket shows as mapped",
    HEAD + own + row(CLIENT, SERVER),
    { server: { host: "::ffff:127.0.0.1", port: 9090 }, client: { host: "::FFFF:127.0.0.1", port: 50_000 } },
  ],
  [
    "over IPv6",
    HEAD + row(`${V6}:C350`, `${V6}:2382`),
    { server: { host: "::1", port: 9090 }, client: { host: "::1", port: 50_000 } },
  ],
  ["that has sent its last byte", HEAD + own + row(CLIENT, SERVER, { state: "05" }), ends],
])("finds the user of a client %s", (_, table, which) => {
  expect(ownerIn(table, which, "LE")).toBe(1000);
});

it("reads addresses in the byte order of the machine", () => {
  const [server, client] = ["7F000001:2382", "7F000001:C350"];
  expect(ownerIn(HEAD + row(client, server), ends, "BE")).toBe(1000);
  expect(ownerIn(HEAD + row(client, server), ends, "LE")).toBeUndefined();
});

it.each([
  ["only the server's own row is there", own],
  ["no process holds the socket any more", own + row(CLIENT, SERVER, { uid: 0, inode: 0, state: "06" })],
  ["a process that has closed it left unsent bytes", own + row(CLIENT, SERVER, { uid: 0, inode: 0, state: "04" })],
  ["another process is connecting from the same address", own + row(CLIENT, SERVER, { state: "02" })],
  ["the row has another address of this machine", own + row(CLIENT, "0200007F:2382")],
  ["the row has another client's address", own + row("0200007F:C350", SERVER)],
  ["the table is not a table", "nonsense"],
])("finds no user if %s", (_, rows) => {
  expect(ownerIn(HEAD + rows, ends, "LE")).toBeUndefined();
});

const either = HEAD + row(CLIENT, SERVER) + row("7F000001:C350", "7F000001:2382");

it("reads again until a table contains the row", async () => {
  const clock = new FakeClock();
  let reads = 0;
  const asked = new SocketOwners(clock, async () => [++reads < 3 ? HEAD : either, undefined]).ownerOf(ends);
  for (let i = 0; i < 20; i++) await clock.advance(5);
  expect(await asked).toBe(1000);
  expect(reads).toBe(3);
});

it("reads once for all waiting callers, and again for those who ask while it reads", async () => {
  const first = Promise.withResolvers<string[]>();
  let reads = 0;
  const owners = new SocketOwners(new FakeClock(), () => (++reads === 1 ? first.promise : Promise.resolve([either])));
  const early = [owners.ownerOf(ends), owners.ownerOf(ends)];
  await Promise.resolve();
  await Promise.resolve();
  const late = [owners.ownerOf(ends), owners.ownerOf(ends)];
  first.resolve([either]);
  expect(await Promise.all([...early, ...late])).toEqual([1000, 1000, 1000, 1000]);
  expect(reads).toBe(2);
});

it("gives up if there is no table", async () => {
  const clock = new FakeClock();
  const none = async () => [undefined, undefined];
  const asked = new SocketOwners(clock, none).ownerOf(ends);
  for (let i = 0; i < 20; i++) await clock.advance(5);
  expect(await asked).toBeUndefined();
});
