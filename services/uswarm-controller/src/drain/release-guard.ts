import { isNotFound, type KubeClient } from '@uswarm/kube-client';
import { CHILD_RESOURCES } from '../resources.js';
import { DrainError } from './drain-error.js';
import type { DrainGuard } from './drain.js';

export interface ReleaseGuardDeps {
  client: Pick<KubeClient, 'get'>;
  namespace: string;
  /** Deployment and Service names. */
  components: readonly string[];
}

/** A release component exists, so its UserSwarms are in use. */
export class ReleaseInstalled extends DrainError {
  override name = 'ReleaseInstalled';
}

const KINDS = [CHILD_RESOURCES['Deployment.apps/v1'], CHILD_RESOURCES['Service.v1']];

/**
 * Allows the deletion of UserSwarms only while the release has no Deployment and no Service. A Job that is applied
 * together with the chart therefore does nothing.
 */
export function createReleaseGuard({ client, namespace, components }: ReleaseGuardDeps): DrainGuard {
  async function check(signal: AbortSignal): Promise<void> {
    for (const name of components) {
      for (const kind of KINDS) {
        try {
          await client.get(kind, { name, namespace }, signal);
        } catch (error) {
          if (isNotFound(error)) continue;
          throw error;
        }
        throw new ReleaseInstalled(`${kind.kind} ${namespace}/${name} exists, so uswarm is installed`);
      }
    }
  }
  return { begin: async () => 0, check };
}
