import type { WrongAnswer } from '@uswarm/testkit/wrong-webhook';
import type { Attack } from '../attack.js';
import { CONTROLLER_ATTACKS, type EvilChild } from './controller.js';

// Answers from a compromised webhook. The controller does not know what a runtime may be, so it would write such a
// child; the API server refuses it, as it would refuse a compromised controller.

const RENDERED = [
  'sets NODE_OPTIONS',
  'changes the tool server',
  'takes the Secret of another workspace',
  'runs a foreign image',
  'mounts a folder of the node',
  'uses the network of the node',
  'changes DNS',
  'opens a load balancer',
  'takes over an address',
  'selects the orchestrator',
  'mounts tokens',
  'takes a role of the cloud account',
];

export const WEBHOOK_CHILDREN: Attack<EvilChild>[] = RENDERED.map((tries) => {
  const row = CONTROLLER_ATTACKS.find((each) => each.tries === tries);
  if (row === undefined) throw new Error(`no attack ${tries}`);
  return { ...row, by: 'webhook', tries: `renders a child that ${tries}` };
});

/** Where the UserSwarm is that the webhook answers for. */
export interface AnswerPlace {
  namespace: string;
  /** The name of its children. */
  own: string;
  /** Another workspace's children have this name. */
  victim: string;
}
export type EvilAnswer = (place: AnswerPlace) => object[];

const child = (kind: string, name: string, namespace: string | undefined, fields: object = {}): object => ({
  apiVersion: { Deployment: 'apps/v1', Job: 'batch/v1', RoleBinding: 'rbac.authorization.k8s.io/v1' }[kind] ?? 'v1',
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  ...fields,
});
const KIND = /has a kind that is not allowed/;
const NAMESPACE = /is not in a namespace that this UserSwarm may use/;
const NAME = /is not named agent-runtime-/;

const answers = (
  rows: readonly (readonly [tries: string, attempt: EvilAnswer, error: RegExp])[],
): Attack<EvilAnswer>[] =>
  rows.map(([tries, attempt, error]) => ({
    by: 'webhook',
    tries,
    refusedBy: 'the check of webhook responses',
    attempt,
    error,
  }));

/** For a UserSwarm that is suspended. */
export const WEBHOOK_ANSWERS = answers([
  ...['Secret', 'ConfigMap', 'Pod', 'Job', 'RoleBinding'].map((kind): [string, EvilAnswer, RegExp] => [
    `creates a ${kind}`,
    ({ namespace, own }) => [child(kind, own, namespace)],
    KIND,
  ]),
  ['creates a Namespace', ({ own }) => [child('Namespace', own, undefined)], KIND],
  ['writes to kube-system', ({ own }) => [child('Service', own, 'kube-system')], NAMESPACE],
  [
    'creates a ServiceAccount in the namespace of the platform',
    ({ own }) => [child('ServiceAccount', own, 'default')],
    NAMESPACE,
  ],
  [
    'changes the Deployment of another workspace',
    ({ namespace, victim }) => [child('Deployment', victim, namespace, { spec: { replicas: 0 } })],
    NAME,
  ],
  [
    'takes over the Service of another workspace',
    ({ namespace, victim }) => [child('Service', victim, namespace, { spec: { selector: {} } })],
    NAME,
  ],
]);

const account = ({ namespace, own }: AnswerPlace): object => child('ServiceAccount', own, namespace);
const service = ({ namespace, own }: AnswerPlace): object => child('Service', own, namespace);
const deployment = ({ namespace, own }: AnswerPlace, replicas: number): object =>
  child('Deployment', own, namespace, { spec: { replicas } });

/** For a UserSwarm whose runtime runs. */
export const WEBHOOK_DELETIONS = answers([
  ['deletes a running runtime', () => [], /would delete the \w+ /],
  ['deletes a running Deployment', (at) => [account(at), service(at)], /would delete the Deployment /],
  ['deletes the Service of a running runtime', (at) => [account(at), deployment(at, 1)], /would delete the Service /],
  [
    'deletes the ServiceAccount of a running runtime',
    (at) => [service(at), deployment(at, 1)],
    /would delete the ServiceAccount /,
  ],
  ['stops a running runtime', (at) => [account(at), service(at), deployment(at, 0)], /would stop the Deployment /],
]);

/** The answer as a whole. */
export const answerOf = ({ tries, attempt, error }: Attack<EvilAnswer>, place: AnswerPlace): WrongAnswer => ({
  what: tries,
  reason: 'WebhookInvalid',
  message: error,
  respond: (response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ status: {}, children: attempt(place) })),
});
