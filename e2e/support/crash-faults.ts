import { eventually } from '@uswarm/testkit/eventually';
import { NAMESPACE, RELEASE } from './fixtures.js';
import type { Kinds } from './kinds.js';
import type { Session } from './session.js';
import { leaderOf } from './leader.js';
import type { ContainerKiller, Target } from './container-killer.js';

/** Resolves when the process is dead. @returns a function that waits until a replica works again */
export type CrashFault = () => Promise<() => Promise<void>>;

/** Platform and cluster processes whose crash must not lose work. */
export const CRASH_TARGETS = [
  'the leading controller',
  'the webhook',
  'the orchestrator',
  'Postgres',
  'the API server',
] as const;
export type CrashTarget = (typeof CRASH_TARGETS)[number];

export function crashFaults({ api, tools }: Session, killer: ContainerKiller): Record<CrashTarget, CrashFault> {
  const component = (name: string): Promise<Kinds['Pod'][]> =>
    api.list('Pod', {
      namespace: NAMESPACE.release,
      labelSelector: `app.kubernetes.io/instance=${RELEASE},app.kubernetes.io/component=${name}`,
    });
  const available = (name: string): Promise<unknown> =>
    tools.kubectl(['rollout', 'status', '-n', NAMESPACE.release, `deployment/${RELEASE}-${name}`, '--timeout=120s'], {
      timeoutMs: 130_000,
    });
  const onlyPod = (pods: Kinds['Pod'][], container: string): Target => {
    const [pod] = pods;
    if (pod === undefined || pods.length > 1) throw new Error(`there are ${pods.length} pods of ${container}`);
    return { namespace: pod.metadata?.namespace ?? '', pod: pod.metadata?.name ?? '', container };
  };
  const ofRelease =
    (name: string): CrashFault =>
    async () => {
      // The webhook has two replicas.
      const [first] = await component(name);
      const killed = await killer.kill(onlyPod(first === undefined ? [] : [first], name));
      return async () => {
        await killed.replaced();
        await available(name);
      };
    };
  return {
    'the leading controller': async () => {
      const pod = await leaderOf(api);
      await killer.kill({ namespace: NAMESPACE.release, pod, container: 'controller' });
      // A restarted container would keep the Lease: delete the pod, so that the other replica becomes leader.
      const force = ['--grace-period=0', '--force', '--wait=false'];
      await tools.kubectl(['delete', 'pod', '-n', NAMESPACE.release, pod, ...force]);
      return async () => {
        await eventually(
          async () => {
            const now = await leaderOf(api);
            if (now === pod || now === '') throw new Error(`the leader is "${now}"`);
            return true;
          },
          { description: 'another leads', timeoutMs: 60_000 },
        );
        await available('controller');
      };
    },
    'the webhook': ofRelease('webhook'),
    'the orchestrator': ofRelease('orchestrator'),
    Postgres: ofRelease('postgres'),
    'the API server': async () => {
      const pods = await api.list('Pod', { namespace: 'kube-system', labelSelector: 'component=kube-apiserver' });
      const killed = await killer.kill(onlyPod(pods, 'kube-apiserver'));
      return async () => {
        await killed.replaced();
        await eventually(
          async () => {
            const system = await api.list('Pod', { namespace: 'kube-system' });
            const ill = system.filter(({ status }) => !status?.conditions?.some(isReady));
            if (ill.length > 0) throw new Error(ill.map(({ metadata }) => metadata?.name).join(', '));
            return true;
          },
          { description: 'the pods of the cluster are ready', timeoutMs: 120_000, intervalMs: 1_000 },
        );
      };
    },
  };
}

const isReady = ({ status, type }: { status: string; type: string }): boolean => type === 'Ready' && status === 'True';
