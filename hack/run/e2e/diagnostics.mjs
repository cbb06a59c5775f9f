import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, runIntoFile } from './commands.mjs';

/** All kinds except Secrets, whose values must not be in shared files. */
const OBJECTS = [
  'nodes',
  'namespaces',
  'userswarms.uswarm.dev',
  'deployments,replicasets,statefulsets,daemonsets,jobs',
  'pods',
  'services,endpointslices,ingresses,networkpolicies',
  'configmaps',
  'serviceaccounts,roles,rolebindings',
  'leases,resourcequotas,limitranges,persistentvolumeclaims',
];

/**
 * Writes a cluster's objects, Events, logs, releases and node logs to `folder`. If a part is not available, its file
 * contains the error.
 *
 * @param {{ cluster: import('./kind.mjs').Cluster, tools: { kubectl: string, helm: string }, folder: string }} options
 */
export async function collectDiagnostics({ cluster, tools, folder }) {
  mkdirSync(join(folder, 'objects'), { recursive: true });
  const target = [`--kubeconfig=${cluster.kubeconfig}`];
  const kubectl = (args, file) =>
    runIntoFile(
      tools.kubectl,
      [...target, `--context=${cluster.context}`, '--request-timeout=30s', ...args],
      join(folder, file),
    );
  await kubectl(['get', 'all,secrets', '-A', '-o', 'wide'], 'overview.txt');
  await kubectl(['get', 'userswarms.uswarm.dev', '-A', '-o', 'wide'], 'userswarms.txt');
  await kubectl(['get', 'events', '-A', '--sort-by=.metadata.creationTimestamp', '-o', 'wide'], 'events.txt');
  await kubectl(['describe', 'userswarms.uswarm.dev', '-A'], 'described-userswarms.txt');
  await kubectl(['describe', 'pods', '-A'], 'described-pods.txt');
  await kubectl(['describe', 'nodes'], 'described-nodes.txt');
  for (const kinds of OBJECTS) {
    await kubectl(
      ['get', kinds, '-A', '-o', 'yaml', '--show-managed-fields'],
      `objects/${kinds.split(/[,.]/)[0]}.yaml`,
    );
  }
  await collectLogs({ target: [...target, `--context=${cluster.context}`], kubectl: tools.kubectl, folder });
  await collectReleases({ target: [...target, `--kube-context=${cluster.context}`], helm: tools.helm, folder });
  await collectNode(cluster, folder);
}

/** The logs of every container and its previous instance. */
async function collectLogs({ target, kubectl, folder }) {
  const { code, output } = await run(kubectl, [...target, 'get', 'pods', '-A', '-o', 'json'], { signal: undefined });
  if (code !== 0) return writeFileSync(join(folder, 'logs.txt'), output);
  mkdirSync(join(folder, 'logs'), { recursive: true });
  for (const { namespace, pod, container, restarted } of containersOf(JSON.parse(output.slice(output.indexOf('{'))))) {
    const args = [...target, 'logs', '-n', namespace, pod, '-c', container, '--timestamps'];
    const file = join(folder, 'logs', `${namespace}.${pod}.${container}`);
    await runIntoFile(kubectl, args, `${file}.log`, { limitS: 30 });
    if (restarted) await runIntoFile(kubectl, [...args, '--previous'], `${file}.previous.log`, { limitS: 30 });
  }
}

/** @returns {{ namespace: string, pod: string, container: string, restarted: boolean }[]} the containers that have run */
export function containersOf({ items }) {
  return items.flatMap(({ metadata, status = {} }) =>
    [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
      .filter(({ state = {}, lastState = {} }) => state.running ?? state.terminated ?? lastState.terminated)
      .map(({ name, restartCount = 0 }) => ({
        namespace: metadata.namespace,
        pod: metadata.name,
        container: name,
        restarted: restartCount > 0,
      })),
  );
}

async function collectReleases({ target, helm, folder }) {
  const { code, output } = await run(helm, [...target, 'list', '-A', '-o', 'json'], { signal: undefined });
  if (code !== 0) return writeFileSync(join(folder, 'helm.txt'), output);
  for (const { name, namespace } of JSON.parse(output.slice(output.indexOf('[')))) {
    const file = (what) => join(folder, `helm-${what}-${namespace}.${name}.txt`);
    await runIntoFile(helm, [...target, 'status', name, '-n', namespace], file('status'));
    await runIntoFile(helm, [...target, 'history', name, '-n', namespace], file('history'));
  }
}

/** Node logs; only for a node that is a container in the local Docker. */
async function collectNode({ node, auditLog }, folder) {
  if (auditLog && existsSync(auditLog)) cpSync(auditLog, join(folder, 'audit.log'));
  if (!node) return;
  for (const unit of ['kubelet', 'containerd']) {
    const journal = ['exec', node, 'journalctl', '--no-pager', '--unit', unit, '--lines', '20000'];
    await runIntoFile('docker', journal, join(folder, `${unit}.log`));
  }
  await runIntoFile('docker', ['logs', node], join(folder, 'node.log'));
  await runIntoFile('docker', ['stats', '--no-stream', node], join(folder, 'node-stats.txt'));
}
