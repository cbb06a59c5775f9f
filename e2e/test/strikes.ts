import { eventually, type Kinds, NAMESPACE, RELEASE, type Session } from '../src/index.js';
import { leaderOf } from './leader.js';
import type { Striker, Target } from './striker.js';

/** Done once the process is dead. @returns a function that waits until a replica does its work again */
export type Strike = () => Promise<() => Promise<void>>;

/** Parts of the platform, and of the cluster, whose sudden end must do no harm. */
export const VICTIMS = [
  'the leading controller',
  'the webhook',
  'the orchestrator',
  'Postgres',
  'the API server',
] as const;
export type Victim = (typeof VICTIMS)[number];

export function strikes({ api, tools }: Session, striker: Striker): Record<Victim, Strike> {
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
    (name: string): Strike =>
    async () => {
      // Of the webhook there are two.
      const [first] = await component(name);
      const struck = await striker.kill(onlyPod(first === undefined ? [] : [first], name));
      return async () => {
        await struck.replaced();
        await available(name);
      };
    };
  return {
    'the leading controller': async () => {
      const pod = await leaderOf(api);
      await striker.kill({ namespace: NAMESPACE.release, pod, container: 'controller' });
      // Started again in its pod it would still be the leader; so the other one has to be.
      const force = ['--grace-period=0', '--force', '--wait=false'];
      await tools.kubectl(['delete', 'pod', '-n', NAMESPACE.release, pod, ...force]);
      return async () => {
        await eventually('another leads', { withinMs: 60_000 }, async () => {
          const now = await leaderOf(api);
          if (now === pod || now === '') throw new Error(`the leader is "${now}"`);
          return true as const;
        });
        await available('controller');
      };
    },
    'the webhook': ofRelease('webhook'),
    'the orchestrator': ofRelease('orchestrator'),
    Postgres: ofRelease('postgres'),
    'the API server': async () => {
      const pods = await api.list('Pod', { namespace: 'kube-system', labelSelector: 'component=kube-apiserver' });
      const struck = await striker.kill(onlyPod(pods, 'kube-apiserver'));
      return async () => {
        await struck.replaced();
        await eventually("the cluster's own pods are well", { withinMs: 120_000, everyMs: 1_000 }, async () => {
          const system = await api.list('Pod', { namespace: 'kube-system' });
          const ill = system.filter(({ status }) => !status?.conditions?.some(isReady));
          if (ill.length > 0) throw new Error(ill.map(({ metadata }) => metadata?.name).join(', '));
          return true as const;
        });
      };
    },
  };
}

const isReady = ({ status, type }: { status: string; type: string }): boolean => type === 'Ready' && status === 'True';
