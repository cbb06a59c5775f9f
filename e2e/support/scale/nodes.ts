import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { eventually } from '@uswarm/testkit/eventually';
import { kwok } from './kwok.js';
import { startProcess } from './processes.js';
import { forAll, type ScaleApi } from './api.js';

const NODES = '/api/v1/nodes';
const NODE_COUNT = 10;
const READY_WITHIN_MS = 60_000;

/** Nodes that kwok simulates: pods are Ready immediately and use no resources. */
export interface SimulatedNodes {
  count: number;
  /** Pod settings that select these nodes; other pods do not tolerate them. */
  placement: { nodeSelector: Record<string, string>; tolerations: object[] };
}

interface NodesDeps {
  api: ScaleApi;
  config: KubeConfig;
  /** Label value of this run. */
  id: string;
  folder: string;
}

/** @param closing receives the cleanups, even if this fails */
export async function simulateNodes(
  { api, config, id, folder }: NodesDeps,
  closing: (() => Promise<unknown>)[],
): Promise<SimulatedNodes> {
  const { program, stages } = await kwok();
  const label = 'e2e.uswarm.dev/simulated';
  // Not in the artifacts: the file contains cluster credentials.
  const secrets = await mkdtemp(path.join(tmpdir(), 'uswarm-kwok-'));
  closing.push(() => rm(secrets, { recursive: true }));
  const kubeconfig = path.join(secrets, 'kubeconfig');
  await writeFile(kubeconfig, config.exportConfig(), { mode: 0o600 });
  const process = startProcess({
    command: program,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--config=${stages}`,
      `--manage-nodes-with-label-selector=${label}=${id}`,
      '--node-lease-duration-seconds=40',
    ],
    env: {},
    logFile: path.join(folder, 'kwok.log'),
  });
  closing.push(() => process.stop());
  const names = Array.from({ length: NODE_COUNT }, (_, at) => `simulated-${id}-${at}`);
  closing.push(async () => {
    await forAll(names, NODE_COUNT, (name) => api.call('DELETE', `${NODES}/${name}`));
    for (const name of names) await removePods(api, name);
  });
  for (const name of names) {
    await api.call('POST', NODES, {
      apiVersion: 'v1',
      kind: 'Node',
      // No operating system label: DaemonSets for Linux nodes must not run on these nodes.
      metadata: { name, labels: { [label]: id } },
      spec: { taints: [{ key: label, value: id, effect: 'NoSchedule' }] },
    });
  }
  const ready = async (): Promise<boolean> => {
    const nodes = await api.list(`${NODES}?labelSelector=${encodeURIComponent(`${label}=${id}`)}`);
    return nodes.every(isReady) && nodes.length === NODE_COUNT;
  };
  await eventually(ready, { description: 'the simulated nodes are Ready', timeoutMs: READY_WITHIN_MS });
  return {
    count: NODE_COUNT,
    placement: {
      nodeSelector: { [label]: id },
      tolerations: [{ key: label, operator: 'Equal', value: id, effect: 'NoSchedule' }],
    },
  };
}

function isReady(node: object): boolean {
  const { status } = node as { status?: { conditions?: { type: string; status: string }[] } };
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

/** Deletes DaemonSet pods that tolerate all taints: deleting a node does not delete its pods. */
async function removePods(api: ScaleApi, node: string): Promise<void> {
  const pods = await api.list(`/api/v1/pods?fieldSelector=${encodeURIComponent(`spec.nodeName=${node}`)}`);
  for (const { metadata } of pods as { metadata: { name: string; namespace?: string } }[]) {
    await api.call('DELETE', `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}?gracePeriodSeconds=0`);
  }
}
