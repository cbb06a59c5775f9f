import type { KubernetesObject } from '@uswarm/kube-types';

/** Container behavior by image. */
export type ImageBehaviour = 'good' | 'missing' | 'crashing' | 'hungry';

export interface PodEnvironment {
  image(name: string): ImageBehaviour;
  secretExists(namespace: string, name: string): boolean;
  /** False if the request does not fit on a node. */
  fits(cpu: string): boolean;
}

interface Container {
  name: string;
  image: string;
  env?: { valueFrom?: { secretKeyRef?: { name: string } } }[];
  envFrom?: { secretRef?: { name: string } }[];
  resources?: { requests?: Record<string, string> };
}
export interface PodSpec {
  containers: Container[];
}

/** Seconds after pod creation. */
const CREATED = 1;
const STARTED = 2;
/** Seconds between two starts of a failing container. */
const CRASH_CYCLE = 6;

/** The pod status that scheduler and kubelet write, `age` seconds after creation. */
export function podStatus(pod: KubernetesObject, age: number, environment: PodEnvironment): object {
  const [container] = (pod['spec'] as PodSpec).containers;
  if (container === undefined) throw new Error('a pod without a container');
  if (!environment.fits(container.resources?.requests?.['cpu'] ?? '0')) {
    const message = '0/1 nodes are available: 1 Insufficient cpu.';
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    return { phase: 'Pending', conditions: [condition] };
  }
  const state = containerState(container, pod.metadata.namespace ?? '', age, environment);
  const condition = (type: string, holds: boolean): object => ({ type, status: holds ? 'True' : 'False' });
  return {
    phase: state.ready || 'running' in state.state ? 'Running' : 'Pending',
    conditions: [condition('PodScheduled', true), condition('Ready', state.ready)],
    containerStatuses: [{ name: container.name, image: container.image, ...state }],
  };
}

interface ContainerState {
  ready: boolean;
  restartCount: number;
  state: object;
  lastState?: object;
}

function containerState(
  container: Container,
  namespace: string,
  age: number,
  environment: PodEnvironment,
): ContainerState {
  const waiting = (reason: string, message?: string): ContainerState => ({
    ready: false,
    restartCount: 0,
    state: { waiting: { reason, ...(message === undefined ? {} : { message }) } },
  });
  if (age < CREATED) return waiting('ContainerCreating');
  const behaviour = environment.image(container.image);
  if (behaviour === 'missing') return pullFailure(container.image, age, waiting);
  const secret = secretsOf(container).find((name) => !environment.secretExists(namespace, name));
  if (secret !== undefined) return waiting('CreateContainerConfigError', `secret "${secret}" not found`);
  if (behaviour !== 'good') return crash(behaviour, age);
  return { ready: age >= STARTED, restartCount: 0, state: { running: {} } };
}

function pullFailure(
  image: string,
  age: number,
  waiting: (reason: string, message: string) => ContainerState,
): ContainerState {
  const cause = `failed to resolve reference "${image}": ${image}: not found`;
  if (Math.floor(age / 10) % 2 === 0) return waiting('ErrImagePull', cause);
  return waiting('ImagePullBackOff', `Back-off pulling image "${image}": ErrImagePull: ${cause}`);
}

function crash(behaviour: 'crashing' | 'hungry', age: number): ContainerState {
  const ended = behaviour === 'hungry' ? { reason: 'OOMKilled', exitCode: 137 } : { reason: 'Error', exitCode: 1 };
  const cycle = Math.floor((age - CREATED) / CRASH_CYCLE);
  const within = (age - CREATED) % CRASH_CYCLE;
  const last = cycle === 0 ? {} : { lastState: { terminated: ended } };
  if (within < 1) return { ready: false, restartCount: cycle, state: { running: {} }, ...last };
  if (within < 2) return { ready: false, restartCount: cycle, state: { terminated: ended }, ...last };
  const message = `back-off ${10 * 2 ** cycle}s restarting failed container`;
  const state = { waiting: { reason: 'CrashLoopBackOff', message } };
  return { ready: false, restartCount: cycle, state, lastState: { terminated: ended } };
}

const secretsOf = ({ env = [], envFrom = [] }: Container): string[] =>
  [
    ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ...envFrom.map(({ secretRef }) => secretRef?.name),
  ].filter((name) => name !== undefined);
