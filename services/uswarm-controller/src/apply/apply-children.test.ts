import { describe, expect, it } from '@jest/globals';
import type { ChildGroup } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { createStore, KubeError, type KubernetesObject } from '@uswarm/kube-client';
import type { Observed } from '../sync/request.js';
import { type AppliedViews, applyChildren, type ChildStep, isFirstStart, planChildren } from './apply-children.js';
import type { ChildWriter } from './child-writer.js';
import { desiredChild, ownerReferenceTo } from './desired.js';

const OWNER = ownerReferenceTo({ apiVersion: 'a/v1', kind: 'UserSwarm', metadata: { name: 'w', uid: 'u1' } });
const NONE: Observed = { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} };
const never = new AbortController().signal;

const child = (kind: string, spec: object = {}): KubernetesObject => {
  const apiVersion = kind === 'Deployment' ? 'apps/v1' : 'v1';
  return desiredChild({ apiVersion, kind, metadata: { name: 'x', namespace: 'ns' }, spec }, OWNER);
};
const seen = (object: KubernetesObject, metadata: object = {}): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, uid: `uid-${object.kind}`, ...metadata },
});
const observe = (...objects: KubernetesObject[]): Observed => {
  const observed: Observed = { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} };
  for (const object of objects) observed[`${object.kind}.${object.apiVersion}` as ChildGroup]['ns/x'] = object;
  return observed;
};
const names = (steps: readonly ChildStep[]): string[] => steps.map(({ verb, object }) => `${verb} ${object.kind}`);
const [account, service, deployment] = ['ServiceAccount', 'Service', 'Deployment'].map((kind) => child(kind)) as [
  KubernetesObject,
  KubernetesObject,
  KubernetesObject,
];
const all = [account, service, deployment];

describe('isFirstStart', () => {
  const steps = (observed: Observed, replicas?: number): ChildStep[] =>
    planChildren(
      [account, child('Service', { type: 'ClusterIP' }), child('Deployment', { replicas })],
      observed,
      new Map(),
    );
  const outdated = seen(child('Service', { type: 'NodePort' }));

  it.each([
    ['all children', steps(NONE, 1), true],
    ['a Deployment', steps(observe(seen(account), seen(child('Service', { type: 'ClusterIP' }))), 1), true],
    ['a Deployment without pods', steps(NONE, 0), false],
    ['a Service', planChildren([service], NONE, new Map()), false],
    ['nothing', [], false],
    ['a Deployment, beside an update', steps(observe(outdated), 1), false],
  ])('is right for steps that create %s', (_what, planned, expected) => {
    expect(isFirstStart(planned)).toBe(expected);
  });
});

describe('planning the children', () => {
  it('creates missing children', () => {
    expect(names(planChildren(all, NONE, new Map()))).toEqual([
      'create ServiceAccount',
      'create Service',
      'create Deployment',
    ]);
  });

  it('returns no steps when the children are up to date', () => {
    expect(planChildren(all, observe(...all.map((object) => seen(object))), new Map())).toEqual([]);
  });

  it('updates changed children and deletes undesired ones', () => {
    const observed = observe(seen(account), seen(service), seen(child('Deployment', { replicas: 3 })));
    expect(names(planChildren([deployment], observed, new Map()))).toEqual([
      'delete ServiceAccount',
      'delete Service',
      'update Deployment',
    ]);
  });

  it('ignores terminating children', () => {
    const dying = { deletionTimestamp: '2030-01-01T00:00:00Z' };
    const observed = observe(seen(service, dying), seen(child('Deployment', { replicas: 3 }), dying));
    expect(planChildren([deployment], observed, new Map())).toEqual([]);
  });
});

describe('applying the plan', () => {
  const run = async (
    steps: ChildStep[],
    faults: Record<string, Error> = {},
    applied: AppliedViews = new Map(),
    held: Record<string, Promise<void>> = {},
    log: string[] = [],
  ) => {
    const act = async (object: KubernetesObject, verb: string): Promise<KubernetesObject> => {
      log.push(`> ${verb} ${object.kind}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      await held[object.kind];
      const fault = faults[object.kind];
      if (fault !== undefined) throw fault;
      log.push(`< ${verb} ${object.kind}`);
      return seen(object);
    };
    const writer: ChildWriter = {
      create: (_target, object) => act(object, 'create'),
      update: async (_target, object) => ({ stored: await act(object, 'update'), rewrittenBy: undefined }),
      remove: async (_target, object) => void (await act(object, 'delete')),
    };
    const stores = {
      'ServiceAccount.v1': createStore(),
      'Service.v1': createStore(),
      'Deployment.apps/v1': createStore(),
    };
    const written: string[] = [];
    const onWritten = ({ verb, object }: ChildStep): void => void written.push(`${verb} ${object.kind}`);
    const deps = { writer, stores, deploymentPropagation: 'Foreground', onWritten } as const;
    const error = await applyChildren(deps, steps, applied, never).catch((cause: unknown) => cause);
    return { log, written, error };
  };

  it('creates the Deployment after the ServiceAccount and all others concurrently', async () => {
    const { log, error } = await run(planChildren(all, NONE, new Map()));
    expect(error).toBeUndefined();
    expect(log.slice(0, 2)).toEqual(['> create ServiceAccount', '> create Service']);
    expect(log.indexOf('> create Deployment')).toBeGreaterThan(log.indexOf('< create ServiceAccount'));
  });

  it('creates the Deployment while the Service is not yet created', async () => {
    let createService = (): void => {};
    const held = new Promise<void>((resolve) => {
      createService = resolve;
    });
    const log: string[] = [];
    const running = run(planChildren(all, NONE, new Map()), {}, new Map(), { Service: held }, log);
    await eventually(() => log.includes('< create Deployment'));
    expect(log).not.toContain('< create Service');
    createService();
    expect((await running).written).toEqual(['create ServiceAccount', 'create Deployment', 'create Service']);
  });

  it('does not create a Deployment without its ServiceAccount, and applies the rest', async () => {
    const quota = new KubeError(403, { reason: 'Forbidden', message: 'exceeded quota: q' });
    const { written, error } = await run(planChildren(all, NONE, new Map()), { ServiceAccount: quota });
    expect(written).toEqual(['create Service']);
    expect(error).toMatchObject({ reason: 'QuotaExceeded' });
  });

  it('reports that the Service is rejected, and creates the Deployment', async () => {
    const refused = new KubeError(403, { reason: 'Forbidden', message: 'no' });
    const { written, error } = await run(planChildren(all, NONE, new Map()), { Service: refused });
    expect({ written, error }).toMatchObject({
      written: ['create ServiceAccount', 'create Deployment'],
      error: { reason: 'Forbidden' },
    });
  });

  it('throws an actionable failure rather than a transient one', async () => {
    const faults = {
      ServiceAccount: new Error('ECONNRESET'),
      Service: new KubeError(403, { reason: 'Forbidden', message: 'no' }),
    };
    expect((await run(planChildren(all, NONE, new Map()), faults)).error).toMatchObject({ reason: 'Forbidden' });
  });

  it('remembers the applied content, so that it is not written again', async () => {
    const applied: AppliedViews = new Map();
    await run(planChildren(all, NONE, applied), {}, applied);
    expect(applied.size).toBe(3);
    expect(planChildren(all, observe(...all.map((object) => seen(object))), applied)).toEqual([]);
  });
});
