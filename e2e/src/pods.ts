import type { Tools } from './tools.js';

export interface PodPlace {
  namespace: string;
  pod: string;
  container?: string;
}

/**
 * Runs JavaScript inside a pod of ours and returns what its function returned; the images have node
 * and no shell. The code sees nothing from out here.
 */
export async function evaluateInPod<T>(
  { kubectl }: Pick<Tools, 'kubectl'>,
  { container, namespace, pod }: PodPlace,
  code: () => T | Promise<T>,
): Promise<T> {
  const script = `Promise.resolve((${code.toString()})()).then((value) => console.log(JSON.stringify(value)))`;
  const where = ['-n', namespace, pod, ...(container === undefined ? [] : ['-c', container])];
  const { stdout } = await kubectl(['exec', ...where, '--', 'node', '-e', script]);
  return JSON.parse(stdout) as T;
}
