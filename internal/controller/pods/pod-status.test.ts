import { describe, expect, it } from "vitest";
import { container, ended, NOT_READY, READY, recorded, waiting } from "../../../test/support/cluster/recorded-pods.ts";
import { observePod } from "./observed-pod.ts";
import { podVerdict } from "./pod-status.ts";

describe("the session's status by its pod", () => {
  it.for<[string, ReturnType<typeof recorded>, readonly [status: string, reason: string, error: RegExp]]>([
    ["just created", recorded({ phase: "Pending" }), ["starting", "", /^$/]],
    [
      "held back for its certificate",
      recorded(
        {
          phase: "Pending",
          conditions: [
            {
              type: "PodScheduled",
              status: "False",
              reason: "SchedulingGated",
              message: "Scheduling is blocked due to non-empty scheduling gates",
            },
          ],
        },
        { spec: { schedulingGates: [{ name: "gastown.io/certificate" }], nodeName: "" } },
      ),
      ["starting", "SchedulingGated", /^$/],
    ],
    [
      "unschedulable",
      recorded({
        phase: "Pending",
        conditions: [
          {
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: "0/1 nodes are available: 1 Insufficient memory.",
          },
        ],
      }),
      ["starting", "Unschedulable", /^no node accepts the pod: 0\/1 nodes are available: 1 Insufficient memory$/],
    ],
    [
      "its containers are being created",
      recorded({ phase: "Pending", conditions: NOT_READY, containerStatuses: [waiting("ContainerCreating")] }),
      ["starting", "", /^$/],
    ],
    [
      "its image cannot be pulled",
      recorded({
        phase: "Pending",
        conditions: NOT_READY,
        containerStatuses: [waiting("ImagePullBackOff", 'Back-off pulling image "nope:1"')],
      }),
      ["failed", "ImagePullBackOff", /^cannot get the image of agent: Back-off pulling image "nope:1"$/],
    ],
    [
      "its image is not on the node and may not be pulled",
      recorded({
        phase: "Pending",
        containerStatuses: [waiting("ErrImageNeverPull", "Container image is not present with pull policy of Never")],
      }),
      ["failed", "ErrImageNeverPull", /not present/],
    ],
    [
      "a Secret of its environment is missing",
      recorded({
        phase: "Pending",
        containerStatuses: [waiting("CreateContainerConfigError", 'secret "api-key" not found')],
      }),
      ["failed", "CreateContainerConfigError", /secret "api-key" not found/],
    ],
    [
      "its clone fails repeatedly",
      recorded({
        phase: "Pending",
        initContainerStatuses: [
          container(
            { waiting: { reason: "CrashLoopBackOff" } },
            {
              name: "clone",
              restartCount: 3,
              lastState: { terminated: { exitCode: 128, reason: "Error", message: "secret in an url" } },
            },
          ),
        ],
        containerStatuses: [waiting("PodInitializing")],
      }),
      ["failed", "InitFailed", /^clone fails repeatedly with code 128$/],
    ],
    [
      "its clone has failed twice and waits for another attempt",
      recorded({
        phase: "Pending",
        initContainerStatuses: [
          container({ terminated: { exitCode: 128, reason: "Error" } }, { name: "clone", restartCount: 1 }),
        ],
        containerStatuses: [waiting("PodInitializing")],
      }),
      ["failed", "InitFailed", /^clone fails repeatedly with code 128$/],
    ],
    [
      "running",
      recorded({
        phase: "Running",
        conditions: READY,
        containerStatuses: [container({ running: {} }, { ready: true, started: true })],
      }),
      ["running", "", /^$/],
    ],
    [
      "running, not ready for a moment",
      recorded({
        phase: "Running",
        conditions: NOT_READY,
        containerStatuses: [container({ running: {} }, { started: true })],
      }),
      ["running", "", /^$/],
    ],
    [
      "its first container has not served yet",
      recorded({ phase: "Running", conditions: NOT_READY, containerStatuses: [container({ running: {} })] }),
      ["starting", "", /^$/],
    ],
    [
      "its serving half's container has not served yet",
      recorded(
        {
          phase: "Running",
          conditions: NOT_READY,
          initContainerStatuses: [container({ running: {} }, { name: "sidecar", started: true })],
          containerStatuses: [container({ running: {} }, { started: true })],
        },
        { spec: { initContainers: [{ name: "sidecar", restartPolicy: "Always" }] } },
      ),
      ["starting", "", /^$/],
    ],
    [
      "its serving half's container fails repeatedly",
      recorded(
        {
          phase: "Pending",
          initContainerStatuses: [
            container(
              { waiting: { reason: "CrashLoopBackOff" } },
              { name: "sidecar", lastState: { terminated: { exitCode: 2, reason: "Error" } } },
            ),
          ],
        },
        { spec: { initContainers: [{ name: "sidecar", restartPolicy: "Always" }] } },
      ),
      ["failed", "CrashLoopBackOff", /with code 2$/],
    ],
    [
      "out of memory once, running again",
      recorded({
        phase: "Running",
        conditions: READY,
        containerStatuses: [
          container(
            { running: {} },
            {
              ready: true,
              started: true,
              restartCount: 1,
              lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } },
            },
          ),
        ],
      }),
      ["running", "OOMKilled", /^$/],
    ],
    [
      "out of memory repeatedly",
      recorded({
        phase: "Running",
        containerStatuses: [
          container(
            { waiting: { reason: "CrashLoopBackOff" } },
            { restartCount: 4, lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } },
          ),
        ],
      }),
      ["failed", "OOMKilled", /ran out of memory/],
    ],
    [
      "crash loop, without the program's own message",
      recorded({
        phase: "Running",
        containerStatuses: [
          container(
            { waiting: { reason: "CrashLoopBackOff" } },
            {
              restartCount: 4,
              lastState: { terminated: { exitCode: 127, reason: "Error", message: "my key is sk-1" } },
            },
          ),
        ],
      }),
      ["failed", "CrashLoopBackOff", /^the agent's container ends repeatedly with code 127$/],
    ],
    [
      "its program cannot be run",
      recorded({
        phase: "Failed",
        containerStatuses: [ended(128, "StartError", 'exec: "nope": executable file not found')],
      }),
      ["failed", "StartError", /with code 128: exec: "nope": executable file not found$/],
    ],
    [
      "ended with an error",
      recorded({ phase: "Failed", containerStatuses: [ended(3, "Error")] }),
      ["failed", "Error", /with code 3$/],
    ],
    [
      "ended without an error",
      recorded({ phase: "Succeeded", containerStatuses: [ended(0, "Completed")] }),
      ["stopped", "", /^$/],
    ],
    [
      "evicted by the node",
      recorded({
        phase: "Failed",
        reason: "Evicted",
        message: "The node was low on resource: memory.",
        containerStatuses: [ended(137, "Error")],
      }),
      ["failed", "Evicted", /low on resource: memory; its history is lost$/],
    ],
    [
      "evicted by the Eviction API",
      recorded({
        phase: "Failed",
        conditions: [
          {
            type: "DisruptionTarget",
            status: "True",
            reason: "EvictionByEvictionAPI",
            message: "Eviction API: evicting",
          },
        ],
        containerStatuses: [ended(143, "Error")],
      }),
      ["failed", "EvictionByEvictionAPI", /its history is lost$/],
    ],
    [
      "evicted by the Eviction API, its agent ended without an error",
      recorded({
        phase: "Succeeded",
        conditions: [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }],
        containerStatuses: [ended(0, "Completed")],
      }),
      ["failed", "EvictionByEvictionAPI", /its history is lost$/],
    ],
    [
      "ended by its node without a trace of the reason, its agent ended without an error",
      recorded({
        phase: "Succeeded",
        containerStatuses: [container({ terminated: { exitCode: 0, message: "ended from outside" } })],
      }),
      ["failed", "Terminated", /^the cluster ended the pod; its history is lost$/],
    ],
    [
      "being drained",
      recorded(
        {
          phase: "Running",
          conditions: [...READY, { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }],
          containerStatuses: [container({ running: {} }, { started: true })],
        },
        { metadata: { deletionTimestamp: "2026-01-01T01:00:00Z" } },
      ),
      ["stopping", "EvictionByEvictionAPI", /^$/],
    ],
    [
      "preempted before it ran",
      recorded({ phase: "Failed", reason: "Preempting", message: "Preempted in order to admit critical pod" }),
      ["failed", "Preempting", /history is lost$/],
    ],
    [
      "refused by its node",
      recorded({
        phase: "Failed",
        reason: "OutOfmemory",
        message: "Pod was rejected: Node didn't have enough resource: memory",
      }),
      ["failed", "OutOfmemory", /^the node refused the pod: Pod was rejected/],
    ],
    [
      "its node is silent",
      recorded({
        phase: "Running",
        conditions: [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }],
        containerStatuses: [container({ running: {} }, { started: true })],
      }),
      ["running", "NodeLost", /^the node node1 does not answer/],
    ],
    [
      "its node was marked as unreachable by the cluster, not by the kubelet",
      recorded({
        phase: "Running",
        conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:01:00Z" }],
        containerStatuses: [container({ running: {} }, { ready: true, started: true })],
      }),
      ["running", "NodeLost", /^the node node1 does not answer/],
    ],
    [
      "its node is lost and the pod abandoned",
      recorded(
        { phase: "Running", reason: "NodeLost", containerStatuses: [container({ running: {} })] },
        { metadata: { deletionTimestamp: "2026-01-01T01:00:00Z" } },
      ),
      ["stopping", "NodeLost", /does not answer/],
    ],
    [
      "deleted by someone else, ending",
      recorded(
        { phase: "Running", conditions: READY, containerStatuses: [container({ running: {} }, { started: true })] },
        { metadata: { deletionTimestamp: "2026-01-01T01:00:00Z" } },
      ),
      ["stopping", "Terminating", /^$/],
    ],
    [
      "deleted by someone else, ended",
      recorded(
        { phase: "Failed", containerStatuses: [ended(143, "Error")] },
        { metadata: { deletionTimestamp: "2026-01-01T01:00:00Z" } },
      ),
      ["stopped", "Deleted", /^$/],
    ],
    [
      "deleted by someone else, its agent ended without an error",
      recorded(
        { phase: "Succeeded", containerStatuses: [ended(0, "Completed")] },
        { metadata: { deletionTimestamp: "2026-01-01T01:00:00Z" } },
      ),
      ["stopped", "Deleted", /^$/],
    ],
    ["without any status", observePod({}), ["starting", "", /^$/]],
    [
      "in a shape that no API server sends",
      observePod({ status: { containerStatuses: [null, 3, { state: "x" }], conditions: "y" } }),
      ["starting", "", /^$/],
    ],
  ])("%s", ([, pod, [status, reason, error]]) => {
    expect(podVerdict(pod)).toEqual({ status, reason, error: expect.stringMatching(error) });
  });
});
