import { eventually } from '@uswarm/testkit/eventually';
import { NAMESPACE, RELEASE } from './fixtures.js';
import type { KubeApi } from './kube-api.js';

const LEASE = { name: `${RELEASE}-controller`, namespace: NAMESPACE.release };
const CONTROLLERS = {
  namespace: NAMESPACE.release,
  labelSelector: `app.kubernetes.io/instance=${RELEASE},app.kubernetes.io/component=controller`,
};

/** The leader pod's name; empty if there is none. */
export const leaderOf = async (api: KubeApi): Promise<string> =>
  (await api.get('Lease', LEASE)).spec?.holderIdentity ?? '';

/** Waits until a current pod is the leader: the previous release's pods lead until they stop. */
export const waitForCurrentLeader = (api: KubeApi): Promise<string> =>
  eventually(
    async () => {
      const pods = await api.list('Pod', CONTROLLERS);
      const leaving = pods.filter(({ metadata }) => metadata?.deletionTimestamp !== undefined);
      if (leaving.length > 0) throw new Error(`${leaving.length} are terminating`);
      const leader = await leaderOf(api);
      if (!pods.some(({ metadata }) => metadata?.name === leader)) throw new Error(`the leader is "${leader}"`);
      return leader;
    },
    { description: 'one of the present controllers leads', timeoutMs: 90_000 },
  );
