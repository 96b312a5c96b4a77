import { expect, it } from "vitest";
import { urisOf } from "./uri-names.ts";

it.each([
  ["", []],
  ["DNS:a.example", []],
  ["URI:spiffe://a/client/alice", ["spiffe://a/client/alice"]],
  ["DNS:x, URI:spiffe://a/b, IP Address:10.0.0.1, URI:spiffe://a/c", ["spiffe://a/b", "spiffe://a/c"]],
  ['DNS:"x, URI:spiffe://a/controller"', []],
  ['URI:"spiffe://a/b, URI:spiffe://a/controller"', ["spiffe://a/b, URI:spiffe://a/controller"]],
  ['email:"\\"a\\"@x", URI:spiffe://a/b', ["spiffe://a/b"]],
])("%j names %j", (text, uris) => {
  expect(urisOf(text)).toEqual(uris);
});

it.each(['URI:spiffe://a/b, DNS:"x', "URI:spiffe://a/b,URI:spiffe://a/c", "URI:spiffe://a/b trailing, ???"])(
  "%j cannot be parsed completely and names nothing",
  (text) => {
    expect(urisOf(text)).toEqual([]);
  },
);
