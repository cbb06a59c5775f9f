import type { KubeClient } from '@uswarm/kube-client';

/** Counts the calls for single objects. */
export function countingClient(client: KubeClient) {
  const calls = { get: 0, apply: 0, delete: 0 };
  const counting: KubeClient = {
    ...client,
    get: (...args) => ((calls.get += 1), client.get(...args)),
    apply: (...args) => ((calls.apply += 1), client.apply(...args)),
    delete: (...args) => ((calls.delete += 1), client.delete(...args)),
  };
  return { client: counting, calls };
}
