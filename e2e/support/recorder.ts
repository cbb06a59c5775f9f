import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readyCondition } from './conditions.js';
import { NAMESPACE } from './fixtures.js';
import type { KubeApi } from './kube-api.js';
import type { Kinds } from './kinds.js';
import type { Tools } from './tools.js';
import { type ObjectWatch, watchObjects } from './watch.js';

export interface Recorder {
  /** Saves the current objects and logs. */
  finish(): Promise<void>;
}

/** Records the cluster during the run: most objects of a failed test are deleted afterwards. */
export async function startRecorder(api: KubeApi, tools: Tools, folder: string): Promise<Recorder> {
  mkdirSync(folder, { recursive: true });
  const watches: Pick<ObjectWatch<never>, 'stop'>[] = [];
  const record = async <K extends 'UserSwarm' | 'Pod' | 'Event'>(
    kind: K,
    line: (object: Kinds[K]) => string,
    file: string,
  ): Promise<void> => {
    const watch = await watchObjects(api, kind);
    const target = path.join(folder, file);
    writeFileSync(target, '');
    watch.onChange((key, { at, object }) => {
      appendFileSync(
        target,
        `${new Date(at).toISOString()} ${key} ${object === undefined ? 'deleted' : line(object)}\n`,
      );
    });
    watches.push(watch);
  };
  await record('UserSwarm', showUserSwarm, 'userswarms.log');
  await record('Pod', showPod, 'pods.log');
  await record('Event', showEvent, 'events.log');
  return {
    finish: async () => {
      for (const watch of watches) watch.stop();
      await dump(tools, folder);
    },
  };
}

export function showUserSwarm(swarm: Kinds['UserSwarm']): string {
  const { reason, message } = readyCondition(swarm) ?? { reason: '-', message: '' };
  const { conditions = [], phase = 'Pending', observedGeneration } = swarm.status ?? {};
  const rest = conditions.map(({ type, status, reason: why }) => `${type}=${status}/${why}`).join(' ');
  const leaving = swarm.metadata.deletionTimestamp === undefined ? '' : ' (being deleted)';
  return `${phase} ${reason}${leaving} generation ${swarm.metadata.generation}/${observedGeneration} ${rest} ${message}`;
}

function showPod(pod: Kinds['Pod']): string {
  const states = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].map(
    ({ name, ready, restartCount, state }) =>
      `${name}: ready=${ready} restarts=${restartCount} ${JSON.stringify(state ?? {})}`,
  );
  return `${pod.status?.phase} ${states.join('; ')}`;
}

const showEvent = ({ involvedObject, message, reason, type }: Kinds['Event']): string =>
  `${type} ${involvedObject.kind}/${involvedObject.name} ${reason}: ${message}`;

const NAMESPACES = [...Object.values(NAMESPACE), 'kube-system'];

async function dump({ kubectl }: Pick<Tools, 'kubectl'>, folder: string): Promise<void> {
  const save = async (file: string, args: string[]): Promise<void> => {
    const { stdout, stderr } = await kubectl(args, { mayFail: true, timeoutMs: 30_000 });
    writeFileSync(path.join(folder, file), stdout + stderr);
  };
  await save('userswarms.yaml', ['get', 'userswarms', '-o', 'yaml']);
  await save('userswarms.txt', ['get', 'userswarms', '-o', 'wide']);
  await save('nodes.txt', ['describe', 'nodes']);
  // Without Secrets: the folder may be shared.
  const kinds =
    'pods,deployments,replicasets,services,endpointslices,serviceaccounts,configmaps,ingresses,roles,rolebindings,leases,jobs';
  await save('objects.yaml', ['get', kinds, '-A', '-o', 'yaml']);
  await save('pods.txt', ['get', 'pods', '-A', '-o', 'wide']);
  await save('pods-described.txt', ['describe', 'pods', '-A']);
  const restarts = '{range .items[*]}{.metadata.name} {.status.containerStatuses[*].restartCount}{"\\n"}{end}';
  const saveLogs = async (namespace: string): Promise<void> => {
    const { stdout } = await kubectl(['get', 'pods', '-n', namespace, '-o', `jsonpath=${restarts}`], { mayFail: true });
    for (const line of stdout.split('\n').filter((text) => text !== '')) {
      const [pod = '', ...counts] = line.split(' ');
      const logs = ['logs', '-n', namespace, pod, '--all-containers', '--prefix', '--timestamps'];
      await save(`${namespace}-${pod}.log`, logs);
      if (counts.some((count) => Number(count) > 0))
        await save(`${namespace}-${pod}.previous.log`, [...logs, '--previous']);
    }
  };
  await Promise.all(NAMESPACES.map(saveLogs));
}
