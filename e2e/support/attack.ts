import { randomUUID } from 'node:crypto';
import { eventually } from '@uswarm/testkit/eventually';
import { evaluateInPod, type PodPlace } from './pods.js';
import type { Session } from './session.js';

/** A platform part that an attacker controls. */
export type CompromisedPart = 'controller' | 'webhook' | 'model gateway' | 'realtime gateway' | 'runtime';

/**
 * What a compromised part tries, and what must refuse it. A table of attacks is one test per row, with `attackTitle` as its
 * name.
 */
export interface Attack<Attempt> {
  by: CompromisedPart;
  /** Completes "The controller …". */
  tries: string;
  /** The policy, permission or check that refuses it, as docs/threat-model.md names it. */
  refusedBy: string;
  attempt: Attempt;
  /** The error that the attacker gets. */
  error: RegExp;
}

export const attackTitle = ({ by, tries, refusedBy }: Attack<unknown>): string =>
  `The ${by} ${tries}: refused by ${refusedBy}`;

/** The calling pod and its labels. */
export interface Caller extends PodPlace {
  labels: Record<string, string>;
}
export interface Target {
  host: string;
  port: number;
  /** Selector for network policies; undefined if the target is not a pod. */
  pods?: { namespace: string; labels: Record<string, string> };
  /** Replaces `pods`. */
  cidr?: string;
}

/** `silence`: the network dropped the packets. Error codes mean that the target responded. */
export type Outcome = 'open' | 'silence' | `E${string}`;

/** Connects from inside a pod. */
export function tryConnection(
  { tools }: Pick<Session, 'tools'>,
  from: PodPlace,
  { host, port }: Target,
): Promise<Outcome> {
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

/** Waits for an outcome, because network policies take effect with a delay. */
export const waitForOutcome = (session: Session, from: PodPlace, to: Target, outcome: Outcome): Promise<Outcome> =>
  eventually(
    async () => {
      const actual = await tryConnection(session, from, to);
      if (actual !== outcome) throw new Error(`the outcome is ${actual}`);
      return actual;
    },
    { description: `${from.namespace}/${from.pod} → ${to.host}:${to.port}: ${outcome}`, timeoutMs: 60_000 },
  );

type Side = 'Ingress' | 'Egress';
const inNamespace = (name: string): object => ({ matchLabels: { 'kubernetes.io/metadata.name': name } });

/**
 * Adds a network policy that allows this connection on one side.
 *
 * @returns a function that deletes the policy
 */
export async function allowConnection(
  session: Session,
  side: Side,
  from: Caller,
  to: Target,
): Promise<() => Promise<unknown>> {
  const name = `e2e-${randomUUID()}`;
  const peers =
    side === 'Ingress'
      ? [{ namespaceSelector: inNamespace(from.namespace), podSelector: { matchLabels: from.labels } }]
      : to.pods === undefined
        ? [{ ipBlock: { cidr: to.cidr } }]
        : [{ namespaceSelector: inNamespace(to.pods.namespace), podSelector: { matchLabels: to.pods.labels } }];
  const at = side === 'Ingress' ? to.pods : from;
  if (at === undefined) throw new Error('an ingress attack needs target pods');
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
