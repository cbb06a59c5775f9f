import { describe, expect, it } from '@jest/globals';
import { createStore, type KubernetesObject } from '@uswarm/kube-client';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { ownerUid } from '../caches/namespace-scope.js';
import { describeController, observeChildren, observeRelated } from './request.js';

const object = (kind: string, name: string, metadata: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '1', ...metadata },
});
const ownedBy = (uid: string, controller = true): object => ({
  ownerReferences: [{ apiVersion: 'a', kind: 'UserSwarm', name: 'w', uid, controller }],
});

describe('the sync request', () => {
  it('contains every group with the controlled children, including terminating ones', () => {
    const services = createStore({ indexBy: ownerUid });
    services.put(object('Service', 'mine', ownedBy('u1')));
    services.put(object('Service', 'going', { ...ownedBy('u1'), deletionTimestamp: 'now' }));
    services.put(object('Service', 'foreign', ownedBy('u2')));
    services.put(object('Service', 'not-controlled', ownedBy('u1', false)));
    services.put(object('Service', 'labelled', { labels: { 'controller-uid': 'u1' } }));
    const children = {
      'ServiceAccount.v1': createStore(),
      'Service.v1': services,
      'Deployment.apps/v1': createStore(),
    };
    const observed = observeChildren('u1', { children });
    expect(Object.keys(observed)).toEqual(['ServiceAccount.v1', 'Service.v1', 'Deployment.apps/v1']);
    expect(Object.keys(observed['Service.v1'])).toEqual(['ns/mine', 'ns/going']);
  });

  it('contains the namespace and the pods that a ReplicaSet of the runtime controls', () => {
    const parent = { ...object('UserSwarm', 'workspace-a'), spec: { placement: { runtimeNamespace: 'ns' } } };
    const namespaces = createStore();
    namespaces.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns', resourceVersion: '1' } });
    const pods = createStore({ indexBy: ({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] });
    const pod = (name: string, instance: string, kind: string, owner: string): void =>
      pods.put(
        object('Pod', name, {
          labels: { 'app.kubernetes.io/instance': instance },
          ownerReferences: [{ apiVersion: 'apps/v1', kind, name: owner, uid: 'x', controller: true }],
        }),
      );
    pod('real', 'workspace-a', 'ReplicaSet', 'agent-runtime-workspace-a-5d4f');
    pod('pretender', 'workspace-a', 'ReplicaSet', 'something-else');
    pod('job', 'workspace-a', 'Job', 'agent-runtime-workspace-a-5d4f');
    pod('neighbour', 'workspace-b', 'ReplicaSet', 'agent-runtime-workspace-a-5d4f');
    const related = observeRelated(parent, namespaces, { pods });
    expect(Object.keys(related['Pod.v1'] ?? {})).toEqual(['ns/real']);
    expect(Object.keys(related['Namespace.v1'] ?? {})).toEqual(['ns']);
  });

  it('contains the Events of stuck pods, and omits the group without any', () => {
    const parent = { ...object('UserSwarm', 'workspace-a'), spec: { placement: { runtimeNamespace: 'ns' } } };
    const pods = createStore({ indexBy: ({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] });
    pods.put(
      object('Pod', 'stuck', {
        labels: { 'app.kubernetes.io/instance': 'workspace-a' },
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'agent-runtime-workspace-a-1', uid: 'x' }],
      }),
    );
    const event = object('Event', 'e');
    const of = ({ metadata: { name } }: KubernetesObject): KubernetesObject[] => (name === 'stuck' ? [event] : []);
    const related = observeRelated(parent, createStore(), { pods, warnings: { of } });
    expect(related['Event.v1']).toEqual({ 'ns/e': event });
    const silent = observeRelated(parent, createStore(), { pods, warnings: { of: () => [] } });
    expect(Object.keys(silent)).toEqual(['Pod.v1', 'Namespace.v1']);
  });

  it('contains the controller in the format of Metacontroller', () => {
    expect(describeController(USERSWARMS, 30)).toMatchObject({
      apiVersion: 'metacontroller.k8s.io/v1alpha1',
      kind: 'CompositeController',
      spec: {
        resyncPeriodSeconds: 30,
        parentResource: { apiVersion: 'uswarm.dev/v1alpha1', resource: 'userswarms' },
        childResources: [
          { apiVersion: 'v1', resource: 'serviceaccounts', updateStrategy: { method: 'InPlace' } },
          { apiVersion: 'v1', resource: 'services', updateStrategy: { method: 'InPlace' } },
          { apiVersion: 'apps/v1', resource: 'deployments', updateStrategy: { method: 'InPlace' } },
        ],
      },
    });
  });
});
