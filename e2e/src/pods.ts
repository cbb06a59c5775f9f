import type { Tools } from './tools.js';

export interface PodPlace {
  namespace: string;
  pod: string;
  container?: string;
}

/**
 * Runs JavaScript inside a pod of the release and returns what its function returned; the images have node
 * and no shell. The code sees nothing from out here but its argument.
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
