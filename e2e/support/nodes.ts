import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually } from '@uswarm/testkit/eventually';
import { KEPT_NODE, NAMESPACE } from './fixtures.js';
import type { Kinds } from './kinds.js';
import type { Session } from './session.js';

const run = promisify(execFile);

/** The control plane notices a lost node within 50 seconds, and a started one within seconds. */
const SEEN_WITHIN_MS = 120_000;

const isReady = (node: Kinds['Node']): boolean =>
  node.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';

/** Nodes in a kind cluster, which are containers. */
export function openNodes({ api, tools }: Session) {
  const list = async (): Promise<Kinds['Node'][]> => api.list('Node', {});
  const until = async (node: string, ready: boolean): Promise<void> => {
    await eventually(
      async () => {
        const found = (await list()).find(({ metadata }) => metadata?.name === node);
        return found !== undefined && isReady(found) === ready;
      },
      { description: `${node} is ${ready ? 'Ready' : 'not Ready'}`, timeoutMs: SEEN_WITHIN_MS },
    );
  };
  return {
    list,

    /** Nodes that tests may stop. */
    async workers(): Promise<string[]> {
      const [label = ''] = Object.keys(KEPT_NODE);
      return (await list())
        .filter(({ metadata }) => metadata?.labels?.[label] === undefined)
        .map(({ metadata }) => metadata?.name ?? '');
    },

    /** Evicts all pods, as before maintenance. */
    async drain(node: string): Promise<void> {
      const options = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=300s'];
      await tools.kubectl(['drain', node, ...options], { timeoutMs: 330_000 });
    },

    async uncordon(node: string): Promise<void> {
      await tools.kubectl(['uncordon', node]);
    },

    /** Switches the node off. */
    powerOff: (node: string) => run('docker', ['kill', node]),

    async powerOn(node: string): Promise<void> {
      await run('docker', ['start', node]);
      await until(node, true);
    },

    untilLost: (node: string) => until(node, false),
  };
}

export type Nodes = ReturnType<typeof openNodes>;

/** A component's running pods, with their nodes. */
export async function placesOf({ api }: Session, component: string): Promise<Map<string, string>> {
  const labelSelector = `app.kubernetes.io/component=${component},app.kubernetes.io/instance=uswarm`;
  const pods = await api.list('Pod', { namespace: NAMESPACE.release, labelSelector });
  return new Map(
    pods
      .filter(({ metadata, status }) => metadata?.deletionTimestamp === undefined && status?.phase === 'Running')
      .map(({ metadata, spec }) => [metadata?.name ?? '', spec?.nodeName ?? '']),
  );
}
