import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ROLLOUT, USERSWARMS } from '@uswarm/contract/userswarm';
import { createStore, KubeError, type KubernetesObject, type Store } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import type { RecordedEvent } from '../events/event-recorder.js';
import { createRolloutCoordinator, type RolloutCoordinator } from './coordinator.js';

const NOW = new Date('2030-01-01T01:00:00Z');
const LIMITS = { maxConcurrent: 2, deadlineS: 7_200, maxFailures: 1 };

const GIVEN = '2030-01-01T00:40:00Z';

/** An idle UserSwarm that waits for `r2`. */
const waiting = (
  name: string,
  annotations: Record<string, string> = { [ROLLOUT.wanted]: 'r2' },
  since = '2030-01-01T00:30:00Z',
): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name, uid: `uid-${name}`, resourceVersion: '10', annotations },
  spec: {},
  status: {
    phase: 'Ready',
    revision: 'r1',
    pendingRevision: 'r2',
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' },
      { type: 'UpToDate', status: 'False', reason: 'x', message: '', lastTransitionTime: since },
    ],
  },
});
const failed = (name: string): KubernetesObject => {
  const userSwarm = waiting(name, { [ROLLOUT.revision]: 'r2', [ROLLOUT.time]: GIVEN });
  const condition = (type: string, status: string, reason: string) => ({
    type,
    status,
    reason,
    message: '',
    lastTransitionTime: '2030-01-01T00:41:00Z',
  });
  const conditions = [condition('Ready', 'False', 'ImagePullBackOff'), condition('UpToDate', 'True', 'UpToDate')];
  return { ...userSwarm, status: { phase: 'Progressing', revision: 'r2', conditions } };
};

describe('the rollout coordinator', () => {
  let parents: Store;
  let patches: { name: string; patch: unknown }[];
  let events: string[];
  let granted: string[];
  /** UserSwarms whose cached version was stale. */
  let stale: string[];
  /** Errors for UserSwarms that cannot be written, by name. */
  let denied: Map<string, Error>;
  let refusal: KubeError | undefined;
  let stopping: AbortController;
  let running: Promise<void>;
  let coordinator: RolloutCoordinator;

  beforeEach(() => {
    [parents, patches, events, granted, stale, refusal] = [createStore(), [], [], [], [], undefined];
    denied = new Map();
    stopping = new AbortController();
    running = Promise.resolve();
  });
  afterEach(async () => {
    stopping.abort();
    await running;
  });

  const newer = ({ metadata, ...rest }: KubernetesObject, annotations: Record<string, string | null>) => {
    const merged = Object.entries({ ...metadata.annotations, ...annotations });
    const resourceVersion = String(Number(metadata.resourceVersion) + 1);
    const kept = Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null));
    return { ...rest, metadata: { ...metadata, resourceVersion, annotations: kept } } as KubernetesObject;
  };
  const start = (initialDelayMs = 0): void => {
    coordinator = createRolloutCoordinator({
      client: {
        get: async (_resource, { name }) => newer(parents.get(name)!, {}),
        mergePatch: async (_resource, { name }, patch) => {
          patches.push({ name, patch });
          const refused = denied.get(name) ?? refusal;
          refusal = undefined;
          if (refused !== undefined) throw refused;
          const { annotations } = (patch as { metadata: { annotations: Record<string, string | null> } }).metadata;
          return newer(parents.get(name)!, annotations);
        },
      },
      resource: USERSWARMS,
      parents,
      limits: LIMITS,
      periodMs: 60_000,
      initialDelayMs,
      settleMs: 1,
      record: ({ metadata }, { type, reason }: RecordedEvent) => void events.push(`${type} ${reason} ${metadata.name}`),
      onGrant: ({ metadata }, forced) => void granted.push(`${metadata.name}${forced ? ' forced' : ''}`),
      onStale: ({ metadata }) => void stale.push(metadata.name),
      clock: { now: () => NOW },
      logger: silentLogger,
    });
    running = coordinator.run(stopping.signal);
  };
  const names = (): string[] => patches.map(({ name }) => name);
  const waitForIdle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));

  it('writes a grant to the observed version of the UserSwarm and records an Event', async () => {
    parents.put(waiting('a'));
    start();
    await eventually(() => granted.length === 1);
    const annotations = {
      [ROLLOUT.revision]: 'r2',
      [ROLLOUT.time]: '2030-01-01T01:00:00.000Z',
      [ROLLOUT.forced]: null,
    };
    expect(patches).toEqual([{ name: 'a', patch: { metadata: { uid: 'uid-a', resourceVersion: '10', annotations } } }]);
    expect({ events, granted }).toEqual({ events: ['Normal RolloutGranted a'], granted: ['a'] });
    expect(coordinator.state()).toEqual({ pending: 1, inFlight: 1, failed: 0, halted: false });
  });

  it('gives no grant during the initial delay', async () => {
    parents.put(waiting('a'));
    start(3_600_000);
    await eventually(() => coordinator.state().pending === 1);
    await waitForIdle();
    expect({ patches, inFlight: coordinator.state().inFlight }).toEqual({ patches: [], inFlight: 0 });
  });

  it('gives a grant after the initial delay without any change', async () => {
    parents.put(waiting('a'));
    start(100);
    await eventually(() => granted.length === 1);
    expect(names()).toEqual(['a']);
  });

  it('gives a valid grant when its clock is behind that of the webhook', async () => {
    parents.put(waiting('a', { [ROLLOUT.wanted]: 'r2' }, '2030-01-01T01:00:02Z'));
    start();
    await eventually(() => granted.length === 1);
    await waitForIdle();
    expect(patches).toHaveLength(1);
    expect(patches[0]).toMatchObject({
      patch: { metadata: { annotations: { [ROLLOUT.time]: '2030-01-01T01:00:02.000Z' } } },
    });
  });

  it('gives at most maxConcurrent grants, and no more until a change', async () => {
    for (const name of ['a', 'b', 'c']) parents.put(waiting(name));
    start();
    await eventually(() => granted.length === 2);
    await waitForIdle();
    expect(names()).toEqual(['a', 'b']);
    const done = newer(parents.get('a')!, {});
    parents.put({
      ...done,
      status: {
        phase: 'Ready',
        revision: 'r2',
        conditions: (waiting('a')['status'] as { conditions: object[] }).conditions.slice(0, 1),
      },
    });
    coordinator.changed();
    await eventually(() => granted.length === 3);
    expect(names()).toEqual(['a', 'b', 'c']);
  });

  it('retries after a conflict', async () => {
    refusal = new KubeError(409, { reason: 'Conflict' });
    parents.put(waiting('a'));
    start();
    await eventually(() => granted.length === 1);
    expect(names()).toEqual(['a', 'a']);
    expect(patches[1]).toMatchObject({ patch: { metadata: { resourceVersion: '11' } } });
  });

  it.each([
    ['was changed by another client', new KubeError(409, { reason: 'Conflict' })],
    ['no longer exists', new KubeError(404, { reason: 'NotFound' })],
  ])('requests a reconcile of a UserSwarm that %s, because no watch event will', async (_what, error) => {
    refusal = error;
    parents.put(waiting('a'));
    start();
    await eventually(() => stale.length > 0);
    expect(stale).toEqual(['a']);
  });

  it('continues with the others when some writes are refused, and backs off for these', async () => {
    for (const name of ['a', 'c', 'd']) denied.set(name, new KubeError(403, { reason: 'Forbidden' }));
    for (const name of ['a', 'b']) parents.put(waiting(name, { [ROLLOUT.revision]: 'r2', [ROLLOUT.time]: GIVEN }));
    for (const name of ['c', 'd', 'e']) parents.put(waiting(name));
    start();
    await eventually(() => granted.length === 1);
    await waitForIdle();
    expect({ names: names().slice(0, 4), granted }).toEqual({ names: ['a', 'b', 'c', 'd'], granted: ['e'] });
    const tried = names().length;
    expect(tried).toBeLessThan(12);
    await waitForIdle();
    expect(names()).toHaveLength(tried);
    denied.clear();
    coordinator.changed();
    await eventually(() => granted.length === 2);
    expect(granted).toEqual(['e', 'c']);
  });

  it('does not try others while the API server is unreachable', async () => {
    for (const name of ['a', 'b']) parents.put(waiting(name));
    denied.set('a', new Error('connection refused'));
    start();
    await waitForIdle();
    expect({ names: names(), granted }).toEqual({ names: ['a'], granted: [] });
  });

  it('reports a forced grant', async () => {
    parents.put(waiting('a', {}, '2029-12-31T00:00:00Z'));
    start();
    await eventually(() => granted.length === 1);
    expect(granted).toEqual(['a forced']);
  });

  it('counts the grants of a previous leader', async () => {
    const given = { [ROLLOUT.wanted]: 'r2', [ROLLOUT.revision]: 'r2', [ROLLOUT.time]: GIVEN };
    for (const name of ['a', 'b']) parents.put(waiting(name, given));
    parents.put(waiting('c'));
    start();
    await waitForIdle();
    expect(patches).toEqual([]);
    expect(coordinator.state()).toMatchObject({ pending: 3, inFlight: 2 });
  });

  it('reports a halt once and writes nothing', async () => {
    parents.put(failed('a'));
    parents.put(waiting('b'));
    start();
    await eventually(() => events.length > 0);
    for (let times = 0; times < 3; times += 1) {
      coordinator.changed();
      await waitForIdle();
    }
    expect({ patches, events }).toEqual({ patches: [], events: ['Warning RolloutHalted a'] });
    expect(coordinator.state()).toEqual({ pending: 1, inFlight: 0, failed: 1, halted: true });
  });

  it('revokes an unused grant', async () => {
    parents.put(waiting('a', { [ROLLOUT.revision]: 'r2', [ROLLOUT.time]: GIVEN }));
    start();
    await eventually(() => patches.length === 1);
    expect(patches[0]).toMatchObject({ patch: { metadata: { annotations: { [ROLLOUT.revision]: null } } } });
    await waitForIdle();
    expect({ patchesCount: patches.length, granted }).toEqual({ patchesCount: 1, granted: [] });
  });

  it('reports zeros when it no longer leads', async () => {
    parents.put(waiting('a'));
    start();
    await eventually(() => granted.length === 1);
    stopping.abort();
    await running;
    expect(coordinator.state()).toEqual({ pending: 0, inFlight: 0, failed: 0, halted: false });
  });
});
