// One cluster and one build of the images for all suites that need pods; the suites run one after the other, in this
// order.
import { afterAll, beforeAll } from "vitest";
import { dropShared, makeShared } from "../support/cluster/shared-cluster.ts";
import "./cluster/pods.ts";
import "./cluster/controller-sessions.ts";
import "./cluster/helm-install.ts";

const LIMIT_MS = 900_000;

beforeAll(() => makeShared(`gt-e2e-${process.pid}`), LIMIT_MS);
afterAll(dropShared, LIMIT_MS);
