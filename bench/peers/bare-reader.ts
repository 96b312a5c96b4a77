// Reads a FIFO and only looks for marks, each of which it reports as a line of JSON.
import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { MarkScanner } from "../marks.ts";

const fd = openSync(process.argv[2] ?? "", constants.O_RDWR | constants.O_NONBLOCK);
const scanner = new MarkScanner((mark) => process.stdout.write(`${JSON.stringify(mark)}\n`));
new Socket({ fd, readable: true, writable: false }).on("data", (chunk) => scanner.push(chunk));
process.on("SIGTERM", () => process.exit(0));
process.stdout.write("reading\n");
