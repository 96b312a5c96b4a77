// One API server for all suites that need no node; the suites run one after the other, in this order.
import { afterAll, beforeAll } from "vitest";
import { dropApiServer, makeApiServer } from "../support/cluster/shared-cluster.ts";
import "./api-server/controller-replicas.ts";
import "./api-server/chart-rbac.ts";
import "./api-server/controller-faults.ts";
import "./api-server/controller-hostile.ts";
import "./api-server/controller-certificates.ts";
import "./api-server/kube-api-server.ts";

const LIMIT_MS = 240_000;

beforeAll(() => makeApiServer(`gt-api-${process.pid}`), LIMIT_MS);
afterAll(dropApiServer, LIMIT_MS);
