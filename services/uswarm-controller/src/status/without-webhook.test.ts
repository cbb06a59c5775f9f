import { describe, expect, it } from '@jest/globals';
import type { Condition } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import type { Observed } from '../sync/request.js';
import { HookError } from '../hook/hook-error.js';
import { needsWebhook, statusWithoutWebhook } from './without-webhook.js';

const NOW = new Date('2030-01-01T00:01:00Z');
const BEFORE = '2030-01-01T00:00:00Z';
const ready = (status: 'True' | 'False', reason: string): Condition => ({
  type: 'Ready',
  status,
  lastTransitionTime: BEFORE,
  reason,
  message: 'before',
});
const userSwarm = (status: object | undefined, metadata: object = {}, spec: object = {}): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'workspace-a', generation: 2, ...metadata },
  spec: { userId: 'x', placement: { runtimeNamespace: 'ns' }, ...spec },
  ...(status === undefined ? {} : { status }),
});
const READY = { phase: 'Ready', observedGeneration: 2, address: 'a:1', conditions: [ready('True', 'Available')] };
const SUSPENDED = { phase: 'Suspended', observedGeneration: 2, conditions: [ready('False', 'Suspended')] };
const KEY = 'ns/agent-runtime-workspace-a';
const child = (kind: string, status: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'agent-runtime-workspace-a', namespace: 'ns' },
  status,
});
const children = (readyReplicas?: number): Observed => ({
  'ServiceAccount.v1': { [KEY]: child('ServiceAccount') },
  'Service.v1': { [KEY]: child('Service') },
  'Deployment.apps/v1': { [KEY]: child('Deployment', readyReplicas === undefined ? {} : { readyReplicas }) },
});
const none: Observed = { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} };
const dying = { deletionTimestamp: BEFORE };

describe('the status during an outage of the webhook', () => {
  it.each<[string, KubernetesObject, Observed, boolean]>([
    ['new', userSwarm(undefined), none, true],
    ['running unchanged', userSwarm(READY), children(1), false],
    ['without its pod', userSwarm(READY), children(), true],
    ['without its Service', userSwarm(READY), { ...children(1), 'Service.v1': {} }, true],
    ['with a changed spec', userSwarm(READY, { generation: 3 }), children(1), true],
    ['terminating', userSwarm(READY, dying), children(1), true],
    ['suspended', userSwarm(SUSPENDED), children(), false],
    ['suspended and resuming', userSwarm(SUSPENDED, { generation: 3 }), children(), true],
    ['in progress', userSwarm({ phase: 'Progressing', observedGeneration: 2 }), children(), true],
    ['rejected', userSwarm({ phase: 'Error', observedGeneration: 2 }), none, false],
  ])('needsWebhook of a UserSwarm that is %s is %4$s', (_what, parent, observed, needs) => {
    expect(needsWebhook(parent, observed)).toBe(needs);
  });

  const outageStatus = (parent: KubernetesObject, observed: Observed) => {
    const status = statusWithoutWebhook(parent, observed, {
      error: new HookError('unreachable', 'connection refused'),
      now: NOW,
    });
    const conditions = status['conditions'] as Condition[];
    return { status, ready: conditions.find(({ type }) => type === 'Ready'), conditions };
  };

  it('reports a new UserSwarm as Progressing with the reason in Ready and Synced', () => {
    const { status, conditions } = outageStatus(userSwarm(undefined), none);
    const message = 'The webhook is unavailable: connection refused.';
    const common = { reason: 'WebhookUnavailable', message, observedGeneration: 2 };
    expect(status).toMatchObject({ phase: 'Progressing' });
    expect(status['observedGeneration']).toBeUndefined();
    expect(conditions).toMatchObject([
      { type: 'Ready', status: 'False', lastTransitionTime: '2030-01-01T00:01:00Z', ...common },
      { type: 'Synced', status: 'False', ...common },
    ]);
  });

  it('reports a UserSwarm with a lost pod as not Ready', () => {
    const { status, ready: shown } = outageStatus(userSwarm(READY), children());
    expect(status).toMatchObject({ phase: 'Progressing', observedGeneration: 2, address: 'a:1' });
    expect(shown).toMatchObject({ status: 'False', lastTransitionTime: '2030-01-01T00:01:00Z' });
  });

  it('reports a terminating UserSwarm as Deleting', () => {
    const { status, ready: shown } = outageStatus(userSwarm(READY, dying), children(1));
    expect(status['phase']).toBe('Deleting');
    expect(shown).toMatchObject({ status: 'False', reason: 'WebhookUnavailable' });
  });

  it('keeps a running UserSwarm with a pending change Ready', () => {
    const { status, ready: shown } = outageStatus(userSwarm(READY, { generation: 3 }), children(1));
    expect(status).toMatchObject({ phase: 'Ready', observedGeneration: 2 });
    expect(shown).toMatchObject({ status: 'True', reason: 'WebhookUnavailable', lastTransitionTime: BEFORE });
  });

  it('keeps a suspended UserSwarm Suspended', () => {
    const parent = userSwarm(SUSPENDED, { generation: 3 }, { suspend: true });
    expect(outageStatus(parent, children()).status['phase']).toBe('Suspended');
    expect(outageStatus(userSwarm(SUSPENDED, { generation: 3 }), children()).status['phase']).toBe('Progressing');
  });

  it('has the present cause, and another reason for an invalid response', () => {
    const first = outageStatus(userSwarm(undefined), none).status;
    const error = new HookError('invalid', 'the webhook returned an invalid response: children: not a list');
    const { conditions } = statusWithoutWebhook(userSwarm(first), none, { error, now: NOW });
    const shown = {
      reason: 'WebhookInvalid',
      message: 'The webhook returned an invalid response: children: not a list.',
    };
    expect(conditions).toMatchObject([
      { type: 'Ready', ...shown },
      { type: 'Synced', ...shown },
    ]);
  });
});
