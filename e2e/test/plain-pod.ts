import { randomUUID } from 'node:crypto';
import type { KubeApi, Kinds } from '../src/index.js';

/** Kept to everything that Pod Security asks at level `restricted`. */
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

/** What admission makes of a pod; nothing is stored. @throws KubeApiError when it is refused */
export const tryPod = (
  api: KubeApi,
  namespace: string,
  spec: object = { containers: [PLAIN_CONTAINER] },
): Promise<Kinds['Pod']> =>
  api.create('Pod', { metadata: { name: `e2e-${randomUUID()}`, namespace }, spec }, { dryRun: true });
