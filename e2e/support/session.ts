import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { HttpMethod } from '@kubernetes/client-node';
import {
  childName,
  LABEL,
  RUNTIME_COMPONENT,
  type UserSwarm,
  type UserSwarmPhase,
  userSwarmName,
} from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { readyCondition, shows } from './conditions.js';
import { NAMESPACE } from './fixtures.js';
import { createKubeApi, type KubeApi, loadKubeConfig } from './kube-api.js';
import type { Kinds } from './kinds.js';
import { showUserSwarm } from './recorder.js';
import { loadSettings, type Settings } from './settings.js';
import { createTools, type Tools } from './tools.js';
import { type ObjectWatch, type Seen, watchObjects } from './watch.js';

/** Limit in milliseconds until phase and reason reflect the state of other objects. */
export const SHOWN_WITHIN_MS = 10_000;
/**
 * Limit for a pod to leave: the kubelet waits up to two minutes for the container runtime, for example while that starts a
 * container whose pod was deleted.
 */
export const DELETED_WITHIN_MS = 150_000;
/** Milliseconds that a runtime may take to become Ready when many start concurrently on two cores. */
export const READY_WITHIN_MS = 90_000;

/** The fields that a test sets; the API server applies the defaults. */
export interface SpecInput {
  userId?: string;
  placement?: { runtimeNamespace?: string };
  runtime?: {
    image?: string;
    port?: number;
    resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  };
  config?: { defaultProvider?: string; defaultModel?: string; envSecretRef?: { name: string } };
  suspend?: boolean;
}

export interface UserSwarmInput {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  spec: SpecInput;
}

/** The resources of one test file; `close` deletes everything it created. */
export interface Session {
  settings: Settings;
  api: KubeApi;
  tools: Tools;
  swarms: ObjectWatch<UserSwarm>;
  /** Runtime pods, in all namespaces. */
  pods: ObjectWatch<Kinds['Pod']>;
  /** A unique name. */
  newName(): string;
  manifest(spec?: SpecInput, name?: string): UserSwarmInput;
  /** Creates a UserSwarm. Resolves with its name when the watch has observed it. */
  create(spec?: SpecInput, name?: string): Promise<string>;
  /** Merges a patch into the spec. Resolves when the watch has observed it. */
  patch(name: string, spec: SpecInput): Promise<UserSwarm>;
  /** Waits for the current spec's phase and reason. */
  shows(name: string, phase: UserSwarmPhase, reason?: string, withinMs?: number): Promise<UserSwarm>;
  ready(name: string): Promise<UserSwarm>;
  deleted(name: string): Promise<void>;
  children(name: string, namespace?: string): Promise<Children>;
  /** Resolves with the UserSwarm's first pod in this state. */
  pod(name: string, what: string, fits: (pod: Kinds['Pod']) => boolean, withinMs?: number): Promise<Seen<Kinds['Pod']>>;
  /** Registers a cleanup. Cleanups run in reverse order when the session is closed. */
  onClose(cleanUp: () => Promise<unknown>): void;
  close(): Promise<void>;
}

export interface Children {
  serviceAccount: Kinds['ServiceAccount'] | undefined;
  service: Kinds['Service'] | undefined;
  deployment: Kinds['Deployment'] | undefined;
  pods: Kinds['Pod'][];
}

export async function openSession(): Promise<Session> {
  const settings = loadSettings();
  const api = createKubeApi(loadKubeConfig(settings));
  const swarms = await watchObjects(api, 'UserSwarm', { show: showUserSwarm });
  const pods = await watchObjects(api, 'Pod', { labelSelector: `${LABEL.component}=${RUNTIME_COMPONENT}` });
  const made = new Set<string>();
  const cleanUps: (() => Promise<unknown>)[] = [];

  const until = async (name: string, phase: UserSwarmPhase, reason: string | undefined, withinMs: number) => {
    const what = reason === undefined ? `in phase ${phase}` : `in phase ${phase} for ${reason}`;
    const { object } = await swarms.until(name, what, shows(phase, reason), withinMs);
    if (object === undefined) throw new Error(`${name} does not exist`);
    return object;
  };
  const session: Session = {
    settings,
    api,
    tools: createTools(settings),
    swarms,
    pods,
    newName: () => userSwarmName(randomUUID()),
    manifest: (spec = {}, name = session.newName()) => ({
      apiVersion: 'uswarm.dev/v1alpha1',
      kind: 'UserSwarm',
      metadata: { name },
      spec: { userId: randomUUID(), ...spec },
    }),
    create: async (spec, name = session.newName()) => {
      made.add(name);
      await api.create('UserSwarm', session.manifest(spec, name));
      // Otherwise a wait for its deletion could end immediately.
      await swarms.until(name, 'observed', (swarm) => swarm !== undefined, 10_000);
      return name;
    },
    patch: async (name, spec) => {
      const patched = await api.merge('UserSwarm', { name }, { spec });
      const { generation = 0 } = patched.metadata;
      // Otherwise the next wait could accept the previous state.
      await swarms.until(
        name,
        `at generation ${generation}`,
        (swarm) => (swarm?.metadata.generation ?? 0) >= generation,
        10_000,
      );
      return patched;
    },
    shows: (name, phase, reason, withinMs = SHOWN_WITHIN_MS) => until(name, phase, reason, withinMs),
    ready: (name) => until(name, 'Ready', 'Available', READY_WITHIN_MS),
    deleted: async (name) => {
      await swarms.until(name, 'deleted', (object) => object === undefined, DELETED_WITHIN_MS);
    },
    children: (name, namespace) => readChildren(api, name, namespace),
    pod: (name, what, fits, withinMs = 60_000) =>
      pods.untilAny(
        `of ${name} ${what}`,
        (pod) => pod.metadata?.labels?.[LABEL.instance] === name && fits(pod),
        withinMs,
      ),
    onClose: (cleanUp) => void cleanUps.push(cleanUp),
    close: async () => {
      await saveLogs(session, made);
      // A failed cleanup does not prevent the others: the next file uses the same release.
      const errors: unknown[] = [];
      const attempt = async (step: () => Promise<unknown>): Promise<void> => {
        await step().catch((error: unknown) => errors.push(error));
      };
      for (const cleanUp of cleanUps.toReversed()) await attempt(cleanUp);
      const leave = async (name: string): Promise<void> => {
        await api.delete('UserSwarm', { name });
        await session.deleted(name);
      };
      await Promise.all([...made].map((name) => attempt(() => leave(name))));
      swarms.stop();
      pods.stop();
      if (errors.length > 0) throw new AggregateError(errors, 'cleanup failed');
    },
  };
  return session;
}

async function readChildren(api: KubeApi, name: string, namespace: string = NAMESPACE.runtime): Promise<Children> {
  const place = { name: childName(name), namespace };
  const [serviceAccount, service, deployment, pods] = await Promise.all([
    api.find('ServiceAccount', place),
    api.find('Service', place),
    api.find('Deployment', place),
    api.list('Pod', { namespace, labelSelector: `${LABEL.instance}=${name}` }),
  ]);
  return { serviceAccount, service, deployment, pods };
}

/** Waits until all of the UserSwarm's children are deleted. */
export function childrenDeleted(api: KubeApi, name: string, namespace?: string): Promise<true> {
  return eventually(
    async () => {
      const { deployment, pods, service, serviceAccount } = await readChildren(api, name, namespace);
      if (deployment ?? service ?? serviceAccount ?? pods[0]) throw new Error('some are still there');
      return true;
    },
    { description: `the children of ${name} are deleted`, timeoutMs: 30_000 },
  );
}

/** Saves runtime pods' logs, which are deleted with the UserSwarm. */
async function saveLogs({ api, pods, settings }: Session, names: ReadonlySet<string>): Promise<void> {
  const folder = path.join(settings.artifacts, 'runtime-logs');
  await mkdir(folder, { recursive: true });
  const ours = pods.all().filter(({ metadata }) => names.has(metadata?.labels?.[LABEL.instance] ?? ''));
  for (const { metadata } of ours) {
    const url = `/api/v1/namespaces/${metadata?.namespace}/pods/${metadata?.name}/log`;
    for (const [query, suffix] of [
      ['', ''],
      ['?previous=true', '.previous'],
    ] as const) {
      const text = await api.request(HttpMethod.GET, url + query).then(
        (response) => response.text(),
        () => '',
      );
      if (text !== '') await writeFile(path.join(folder, `${metadata?.name}${suffix}.log`), text);
    }
  }
}

/** The Ready condition's message. */
export const messageOf = (swarm: UserSwarm): string => readyCondition(swarm)?.message ?? '';
