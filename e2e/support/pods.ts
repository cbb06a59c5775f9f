import { NAMESPACE } from './fixtures.js';
import type { Session } from './session.js';
import type { Tools } from './tools.js';

export interface PodPlace {
  namespace: string;
  pod: string;
  container?: string;
}

/** A runtime's container, in its current pod. @throws Error if no runtime pod is running */
export async function runningContainer(
  { children }: Pick<Session, 'children'>,
  name: string,
): Promise<Required<PodPlace>> {
  const { pods } = await children(name);
  const pod = pods.find(
    ({ metadata, status }) => metadata?.deletionTimestamp === undefined && status?.phase === 'Running',
  );
  const container = pod?.spec?.containers[0]?.name;
  if (pod?.metadata?.name === undefined || container === undefined) throw new Error(`${name} has no running pod`);
  return { namespace: NAMESPACE.runtime, pod: pod.metadata.name, container };
}

/**
 * Runs a JavaScript function inside a pod and returns its result. The images contain node but no shell. The function
 * can use only its argument, no outer variables.
 */
export async function evaluateInPod<T, A = undefined>(
  { kubectl }: Pick<Tools, 'kubectl'>,
  { container, namespace, pod }: PodPlace,
  code: (argument: A) => T | Promise<T>,
  ...[argument]: A extends undefined ? [] : [A]
): Promise<T> {
  const call = `(${code.toString()})(${JSON.stringify(argument) ?? ''})`;
  const script = `Promise.resolve(${call}).then((value) => console.log(JSON.stringify(value)))`;
  const where = ['-n', namespace, pod, ...(container === undefined ? [] : ['-c', container])];
  const { stdout } = await kubectl(['exec', ...where, '--', 'node', '-e', script]);
  return JSON.parse(stdout) as T;
}
