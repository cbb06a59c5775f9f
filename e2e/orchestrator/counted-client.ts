import type { KubeClient } from '@uswarm/kube-client';

/** How often the driver called the API server for one object. */
export function counted(client: KubeClient) {
  const calls = { get: 0, apply: 0, delete: 0 };
  const counting: KubeClient = {
    ...client,
    get: (...args) => ((calls.get += 1), client.get(...args)),
    apply: (...args) => ((calls.apply += 1), client.apply(...args)),
    delete: (...args) => ((calls.delete += 1), client.delete(...args)),
  };
  return { client: counting, calls };
}
