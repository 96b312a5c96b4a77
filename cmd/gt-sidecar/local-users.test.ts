import { expect, it } from "vitest";
import { readLocalUsers } from "./local-users.ts";

const LOOPBACK = { host: "127.0.0.1", port: 9090 };
const plain = { tls: false, isReported: true };

it.each([
  [undefined, []],
  [["1001"], [1001]],
  [
    ["root", "1001", "daemon"],
    [0, 1001, 1],
  ],
  [["any"], undefined],
  [["1001", "any"], undefined],
])("on loopback %j admits %j beside one's own user and root", (given, users) => {
  expect(readLocalUsers(given, LOOPBACK, plain)).toEqual(users);
  expect(readLocalUsers(given, { host: "::1", port: 1 }, plain)).toEqual(users);
  expect(readLocalUsers(given, { host: "localhost", port: 1 }, plain)).toEqual(users);
});

it("checks no user if TLS, the socket's folder or the network decides", () => {
  expect(readLocalUsers([], LOOPBACK, { ...plain, tls: true })).toBeUndefined();
  expect(readLocalUsers([], { host: "", port: 0, path: "/run/a/s" }, plain)).toBeUndefined();
  expect(readLocalUsers([], { host: "0.0.0.0", port: 1 }, plain)).toBeUndefined();
});

it.each(["no-such-user-here", "", "-u", "4294967295", "a b"])("refuses %j", (user) => {
  expect(() => readLocalUsers([user], LOOPBACK, plain)).toThrow(/there is no user/);
});

it("refuses to serve every user by default if the system cannot tell who connects", () => {
  const silent = { tls: false, isReported: false };
  expect(() => readLocalUsers(undefined, LOOPBACK, silent)).toThrow(
    expect.objectContaining({ kind: "invalid", fields: { hint: expect.stringContaining("unix:PATH") } }),
  );
  expect(readLocalUsers(["any"], LOOPBACK, silent)).toBeUndefined();
});
