import { describe, expect, it } from '@jest/globals';
import type { SyncResponse } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { dying, userSwarm } from '../../test/userswarm-fixtures.js';
import type { Observed } from './request.js';
import { requireRunningChildren } from './response-children.js';

const NAME = 'agent-runtime-workspace-a';
const child = (apiVersion: string, kind: string, fields: object = {}): KubernetesObject => ({
  apiVersion,
  kind,
  metadata: { name: NAME, namespace: 'ns' },
  ...fields,
});
const account = child('v1', 'ServiceAccount');
const service = child('v1', 'Service');
const deployment = (replicas: number, metadata: object = {}): KubernetesObject =>
  child('apps/v1', 'Deployment', { spec: { replicas }, metadata: { name: NAME, namespace: 'ns', ...metadata } });
const observed = (running: KubernetesObject | undefined): Observed => ({
  'ServiceAccount.v1': { [`ns/${NAME}`]: account },
  'Service.v1': { [`ns/${NAME}`]: service, 'ns/of-an-older-release': service },
  'Deployment.apps/v1': running === undefined ? {} : { [`ns/${NAME}`]: running },
});
const attempt = (
  children: KubernetesObject[],
  parent = userSwarm(),
  running: KubernetesObject | undefined = deployment(1),
) => requireRunningChildren({ status: {}, children } as SyncResponse, parent, observed(running));

describe('the response for a running runtime', () => {
  it.each([
    ['lists its children', [account, service, deployment(1)]],
    [
      'lists further children',
      [account, service, deployment(1), { ...service, metadata: { name: 'x', namespace: 'ns' } }],
    ],
  ])('is accepted when it %s', (_what, children) => {
    expect(() => attempt(children)).not.toThrow();
  });

  // The API server refuses it, which the status then names.
  it.each([null, undefined, {}])('is left to the API server with a Deployment whose spec is %j', (spec) => {
    expect(() => attempt([account, service, { ...deployment(1), spec }])).not.toThrow();
  });

  it.each([
    ['no children', [], `delete the ServiceAccount ns/${NAME}`],
    ['no Deployment', [account, service], `delete the Deployment ns/${NAME}`],
    ['a Deployment with another name', [account, service, deployment(1, { name: 'other' })], 'delete the Deployment'],
    ['no Service', [account, deployment(1)], `delete the Service ns/${NAME}`],
    ['no ServiceAccount', [service, deployment(1)], `delete the ServiceAccount ns/${NAME}`],
    ['a stopped Deployment', [account, service, deployment(0)], `stop the Deployment ns/${NAME}`],
  ])('is refused with %s', (_what, children, why) => {
    expect(() => attempt(children)).toThrow(why);
  });

  it.each<[string, KubernetesObject, KubernetesObject | undefined]>([
    ['suspended', userSwarm({}, { spec: { suspend: true, placement: { runtimeNamespace: 'ns' } } }), deployment(1)],
    ['being deleted', userSwarm(dying), deployment(1)],
    ['stopped', userSwarm(), deployment(0)],
    ['not created yet', userSwarm(), undefined],
    ['about to be replaced', userSwarm(), deployment(1, dying)],
  ])('may stop one that is %s', (_what, parent, running) => {
    expect(() =>
      requireRunningChildren({ status: {}, children: [] } as SyncResponse, parent, observed(running)),
    ).not.toThrow();
  });
});
