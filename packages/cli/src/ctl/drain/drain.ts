import { setTimeout as sleep } from 'node:timers/promises';
import {
  LABEL,
  RUNTIME_COMPONENT,
  runtimeSelector,
  USERSWARM_API_VERSION,
  USERSWARM_KIND,
  USERSWARMS,
} from '@uswarm/contract/userswarm';
import {
  isNotFound,
  type KubeClient,
  type KubernetesObject,
  type ListOptions,
  type Resource,
} from '@uswarm/kube-client';
import { Failure } from '../../failure.js';
import { type ClusterOptions, inCluster } from '../cluster.js';
import type { ClusterCommand } from '../cluster-arguments.js';
import type { CommandResult } from '../commands.js';

/** The orchestrator leaves a runtime suspended while another field manager than its own holds `spec.suspend`. */
const MANAGER = 'uswarmctl-drain';
const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };
const PAGE = 500;
const POLL_MS = 1_000;

type Drain = Extract<ClusterCommand, { name: 'drain' }> & ClusterOptions;
interface Drained {
  drained: string[];
  /** Runtimes whose pods still run at the end of the wait. */
  running: string[];
}

/**
 * Holds runtimes suspended until their release, and waits until their pods have ended, or releases them. Running turns end first;
 * messages wait. @throws Failure
 */
export async function drain(command: Drain, environment: Record<string, string | undefined>): Promise<CommandResult> {
  return inCluster(command, environment, async (client) => {
    const names = await selected(client, command);
    for (const name of names) await setHold(client, name, !command.undo);
    if (command.undo) return { json: { released: names }, text: lines(names, 'released') };
    const found = await waitForPods(client, names, command.waitS * 1_000);
    const text = [
      ...(found.drained.length === 0 ? [] : [lines(found.drained, 'drained')]),
      ...found.running.map((name) => `${name}: held, but its pod still runs. See uswarmctl why ${name}.`),
    ];
    return {
      json: found,
      text: text.length === 0 ? 'No runtime is to be drained.' : text.join('\n'),
      partial: found.running.length > 0,
    };
  });
}

const lines = (names: readonly string[], what: string): string =>
  names.length === 0 ? `No runtime is to be ${what}.` : names.map((name) => `${name} ${what}.`).join('\n');

async function selected(client: KubeClient, { swarms, node, all }: Drain): Promise<string[]> {
  if (all) return (await listAll(client, USERSWARMS, {})).map(({ metadata }) => metadata.name);
  if (node === undefined) return swarms;
  const pods = await listAll(client, PODS, {
    labelSelector: `${LABEL.name}=${RUNTIME_COMPONENT}`,
    fieldSelector: `spec.nodeName=${node}`,
  });
  const names = pods.flatMap(({ metadata }) => metadata.labels?.[LABEL.instance] ?? []);
  return [...new Set(names)].toSorted();
}

/** Apply with the uid changes an existing UserSwarm only: without it, apply would create one. */
async function setHold(client: KubeClient, name: string, hold: boolean): Promise<void> {
  const { metadata } = await client.get(USERSWARMS, { name }).catch((cause: unknown) => {
    throw isNotFound(cause)
      ? new Failure(`UserSwarm ${name} not found. List them with kubectl get uswarm.`, { cause })
      : cause;
  });
  const object: KubernetesObject = {
    apiVersion: USERSWARM_API_VERSION,
    kind: USERSWARM_KIND,
    metadata: { name, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) },
    ...(hold ? { spec: { suspend: true } } : {}),
  };
  await client.apply(USERSWARMS, object, { force: true, fieldManager: MANAGER });
}

async function waitForPods(client: KubeClient, names: readonly string[], waitMs: number): Promise<Drained> {
  const end = performance.now() + waitMs;
  for (;;) {
    const running: string[] = [];
    for (const name of names) if (await hasPod(client, name)) running.push(name);
    if (running.length === 0 || performance.now() >= end) {
      return { drained: names.filter((name) => !running.includes(name)), running };
    }
    await sleep(POLL_MS);
  }
}

async function hasPod(client: KubeClient, name: string): Promise<boolean> {
  const { spec } = (await client.get(USERSWARMS, { name })) as unknown as {
    spec: { placement: { runtimeNamespace: string } };
  };
  const labels = Object.entries(runtimeSelector(name)).map(([label, value]) => `${label}=${value}`);
  const options = { namespace: spec.placement.runtimeNamespace, labelSelector: labels.join(','), limit: 1 };
  return (await client.list(PODS, options)).items.length > 0;
}

async function listAll(client: KubeClient, resource: Resource, options: ListOptions): Promise<KubernetesObject[]> {
  const found: KubernetesObject[] = [];
  let continueToken: string | undefined;
  do {
    const page = await client.list(resource, { ...options, limit: PAGE, continueToken });
    found.push(...page.items);
    ({ continueToken } = page);
  } while (continueToken !== undefined);
  return found;
}
