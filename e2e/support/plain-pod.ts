import { randomUUID } from 'node:crypto';
import type { Kinds } from './kinds.js';
import type { KubeApi } from './kube-api.js';

/** Complies with Pod Security level `restricted`. */
export const PLAIN_CONTAINER = {
  name: 'a',
  image: 'localhost/any:1',
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 65_532,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
};

/** Creates a pod as a dry run. @throws KubeApiError when admission rejects it */
export const tryPod = (
  api: KubeApi,
  namespace: string,
  spec: object = { containers: [PLAIN_CONTAINER] },
): Promise<Kinds['Pod']> =>
  api.create('Pod', { metadata: { name: `e2e-${randomUUID()}`, namespace }, spec }, { dryRun: true });
