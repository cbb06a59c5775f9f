import { randomUUID } from 'node:crypto';
import { evaluateInPod, eventually, type PodPlace, type Session } from '../src/index.js';

/** Who calls, and the labels that tell its pod from others of its namespace. */
export interface Caller extends PodPlace {
  labels: Record<string, string>;
}
export interface Target {
  host: string;
  port: number;
  /** What a policy has to name; absent if the target is not a pod. */
  pods?: { namespace: string; labels: Record<string, string> };
  /** In place of pods. */
  cidr?: string;
}

/** `silence` is how a network refuses; any other code means that something answered. */
export type Outcome = 'open' | 'silence' | `E${string}`;

/** What becomes of a connection. */
export function call({ tools }: Pick<Session, 'tools'>, from: PodPlace, { host, port }: Target): Promise<Outcome> {
  return evaluateInPod(
    tools,
    from,
    async (to: { host: string; port: number }): Promise<Outcome> => {
      const { lookup } = await import('node:dns/promises');
      const { connect } = await import('node:net');
      const { address } = await lookup(to.host);
      return new Promise((resolve) => {
        const socket = connect({ host: address, port: to.port, timeout: 2_000 });
        const settle = (outcome: Outcome): void => {
          socket.destroy();
          resolve(outcome);
        };
        socket.on('connect', () => settle('open'));
        socket.on('timeout', () => settle('silence'));
        socket.on('error', ({ code }: NodeJS.ErrnoException) => settle((code ?? 'E') as Outcome));
      });
    },
    { host, port },
  );
}

/** Waits for an outcome, and returns it: rules reach the network a moment after the API server. */
export const becomes = (session: Session, from: PodPlace, to: Target, outcome: Outcome): Promise<Outcome> =>
  eventually(`${from.namespace}/${from.pod} → ${to.host}:${to.port}: ${outcome}`, { withinMs: 60_000 }, async () => {
    const seen = await call(session, from, to);
    if (seen !== outcome) throw new Error(`it is ${seen}`);
    return seen;
  });

type Side = 'Ingress' | 'Egress';
const inNamespace = (name: string): object => ({ matchLabels: { 'kubernetes.io/metadata.name': name } });

/**
 * Policies only ever add: one that lets this caller through, on its own side or on that of the target, lifts
 * the rule for it alone. Returns what puts the rule back.
 */
export async function lift(session: Session, side: Side, from: Caller, to: Target): Promise<() => Promise<unknown>> {
  const name = `e2e-${randomUUID()}`;
  const peers =
    side === 'Ingress'
      ? [{ namespaceSelector: inNamespace(from.namespace), podSelector: { matchLabels: from.labels } }]
      : to.pods === undefined
        ? [{ ipBlock: { cidr: to.cidr } }]
        : [{ namespaceSelector: inNamespace(to.pods.namespace), podSelector: { matchLabels: to.pods.labels } }];
  const at = side === 'Ingress' ? to.pods! : from;
  const spec = {
    podSelector: { matchLabels: at.labels },
    policyTypes: [side],
    ...(side === 'Ingress' ? { ingress: [{ from: peers }] } : { egress: [{ to: peers }] }),
  };
  const place = { name, namespace: at.namespace };
  await session.api.create('NetworkPolicy', { metadata: place, spec });
  const restore = (): Promise<unknown> => session.api.delete('NetworkPolicy', place);
  session.onClose(restore);
  return restore;
}
