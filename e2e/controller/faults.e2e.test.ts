import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Condition, UserSwarmStatus } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type ControllerFixture,
  FIXTURE_RESYNC_S,
  openFixture,
  type RunningController,
  type ObjectKey,
} from './fixture.js';
import type { HookMode } from './hook-server.js';
import type { Fault, ProxiedRequest } from './fault-proxy.js';

/** Limit until the status shows a fault, and until it shows the recovery. */
const SHOWN_WITHIN_MS = 10_000;
/** Limit until the status shows a webhook outage, which it does after ten seconds. */
const OUTAGE_SHOWN_WITHIN_MS = 20_000;
/** Limit until an informer recovers: it closes a silent connection after 30 s. */
const RECOVERED_WITHIN_MS = 60_000;

const isWatch = ({ path }: ProxiedRequest): boolean => path.includes('watch=');
const status = (object: KubernetesObject | undefined): UserSwarmStatus => (object?.['status'] ?? {}) as UserSwarmStatus;
const condition = (object: KubernetesObject | undefined, wanted: string): Condition | undefined =>
  status(object).conditions?.find(({ type }) => type === wanted);
const errorResponse = (code: number, reason: string): Fault => ({
  kind: 'answer',
  status: code,
  body: JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message: `injected ${code}`,
  }),
});

// All UserSwarms are suspended, so no pod is needed.
describe('the controller on a real API server', () => {
  let fixture: ControllerFixture;
  let controller: RunningController;
  let count = 0;
  const cleanups: (() => void | Promise<void>)[] = [];

  beforeAll(async () => {
    fixture = await openFixture();
    controller = await fixture.start();
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup();
  });
  afterAll(() => fixture.close());

  const userSwarm = (name: string): ObjectKey => ({ kind: 'UserSwarm', name });
  const service = (name: string): ObjectKey => ({
    kind: 'Service',
    namespace: fixture.namespace,
    name: `agent-runtime-${name}`,
  });
  const apply = (name: string, spec: object = {}): Promise<KubernetesObject> =>
    fixture.apply({
      apiVersion: fixture.apiVersion,
      kind: 'UserSwarm',
      metadata: { name },
      spec: { userId: 'user-1', placement: { runtimeNamespace: fixture.namespace }, suspend: true, ...spec },
    } as KubernetesObject);
  const shows = (
    name: string,
    what: string,
    holds: (object: KubernetesObject) => boolean,
    withinMs = SHOWN_WITHIN_MS,
  ): Promise<KubernetesObject> =>
    eventually(
      async () => {
        const object = await fixture.get(userSwarm(name));
        return object !== undefined && holds(object) ? object : undefined;
      },
      { description: `${name}: ${what}`, timeoutMs: withinMs },
    );
  const suspended = (name: string, withinMs?: number): Promise<KubernetesObject> =>
    shows(name, 'is Suspended', (object) => status(object).phase === 'Suspended', withinMs);
  /** Checks Synced and the phase: the webhook sets the phase, even if the children cannot be written. */
  const isSyncedAgain = (name: string, withinMs: number): Promise<KubernetesObject> =>
    shows(
      name,
      'is synced again',
      (object) => condition(object, 'Synced')?.reason === 'Synced' && status(object).phase === 'Suspended',
      withinMs,
    );
  const newName = (): string => `workspace-fault-${(count += 1)}-end`;
  async function settledSwarm(): Promise<string> {
    const name = newName();
    await apply(name);
    await suspended(name);
    return name;
  }
  /** Deletes a child without the proxy and waits until the controller restores it. */
  async function deletedChildIsRestored(name: string, withinMs?: number): Promise<void> {
    const uid = (await fixture.get(service(name)))?.metadata.uid;
    await fixture.delete(service(name));
    await isRestored(name, uid, withinMs);
  }
  const isRestored = (name: string, uid: string | undefined, withinMs = SHOWN_WITHIN_MS): Promise<KubernetesObject> =>
    eventually(
      async () => {
        const found = await fixture.get(service(name));
        return found !== undefined && found.metadata.uid !== uid ? found : undefined;
      },
      { description: `the Service of ${name} is restored`, timeoutMs: withinMs },
    );
  const inject = (matches: (request: ProxiedRequest) => boolean, fault: Fault): (() => void) => {
    const removeFault = fixture.proxy.inject(matches, fault);
    cleanups.push(removeFault);
    return removeFault;
  };
  const faults = (fault: string): Promise<number> =>
    controller.metric('uswarm_controller_watch_failures_total', { fault });
  const eventsOf = async (name: string, reason: string): Promise<KubernetesObject[]> =>
    (await fixture.list('Event', 'default')).filter(
      (event) =>
        (event['involvedObject'] as { name?: string } | undefined)?.name === name && event['reason'] === reason,
    );
  const hasEvent = (name: string, reason: string): Promise<KubernetesObject> =>
    eventually(async () => (await eventsOf(name, reason)).at(0), {
      description: `${name} has an Event ${reason}`,
      timeoutMs: SHOWN_WITHIN_MS,
    });
  const outcomes = (outcome: string): Promise<number> =>
    controller.metric('uswarm_controller_hook_duration_seconds', { outcome });

  describe('with failing watches', () => {
    it.each<[what: string, fault: Fault, counted: string]>([
      [
        '410 Gone in the stream',
        {
          kind: 'line',
          text: '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}',
        },
        'gone',
      ],
      ['malformed data in the stream', { kind: 'line', text: '{"type":"ADDED","object":{"metad' }, 'garbage'],
      ['410 Gone for each new watch', errorResponse(410, 'Expired'), 'gone'],
      ['500 for each new watch', errorResponse(500, 'InternalError'), 'refused'],
    ])('recovers from %s and counts it', async (_what, fault, counted) => {
      const name = await settledSwarm();
      const before = await faults(counted);
      const removeFault = inject(isWatch, fault);
      await eventually(async () => (await faults(counted)) > before, {
        description: 'the fault is counted',
        timeoutMs: SHOWN_WITHIN_MS,
      });
      removeFault();
      await deletedChildIsRestored(name, RECOVERED_WITHIN_MS);
      await expect(settledSwarm()).resolves.toEqual(expect.any(String));
    });

    it('closes a silent connection and handles the changes that it missed', async () => {
      const name = await settledSwarm();
      const before = await faults('silence');
      const removeFault = inject(isWatch, { kind: 'silence' });
      const uid = (await fixture.get(service(name)))?.metadata.uid;
      await fixture.delete(service(name));
      await eventually(async () => (await faults('silence')) > before, {
        description: 'the fault is counted',
        timeoutMs: RECOVERED_WITHIN_MS,
      });
      removeFault();
      await expect(isRestored(name, uid, RECOVERED_WITHIN_MS)).resolves.toMatchObject({ kind: 'Service' });
    });
  });

  it('reconciles changes made during an outage of the API server', async () => {
    const name = await settledSwarm();
    const late = newName();
    const before = await faults('connection');
    await fixture.proxy.disconnect();
    cleanups.push(() => fixture.proxy.restore());
    await apply(late);
    const uid = (await fixture.get(service(name)))?.metadata.uid;
    await fixture.delete(service(name));
    await sleep(3_000);
    await fixture.proxy.restore();
    await isRestored(name, uid, RECOVERED_WITHIN_MS);
    await suspended(late, RECOVERED_WITHIN_MS);
    // A watch that was silent before the outage may still count as unresponsive.
    await eventually(async () => controller.ready(), {
      description: 'the controller is ready',
      timeoutMs: RECOVERED_WITHIN_MS,
    });
    expect(await faults('connection')).toBeGreaterThan(before);
  });

  it.each<[what: string, fault: Fault, reason: string]>([
    ['a forbidden write', errorResponse(403, 'Forbidden'), 'Forbidden'],
    ['a write rejected as invalid', errorResponse(422, 'Invalid'), 'ApplyFailed'],
  ])('reports %s as condition, Event and metric until a write succeeds', async (_what, fault, reason) => {
    const removeFault = inject(
      ({ method, path }) => method === 'POST' && /\/(services|deployments)\?/.test(path),
      fault,
    );
    const name = newName();
    await apply(name, { suspend: false });
    const failing = await shows(name, `is ${reason}`, (object) => condition(object, 'Ready')?.reason === reason);
    expect(condition(failing, 'Synced')).toMatchObject({ status: 'False', reason });
    expect(status(failing).phase).toBe('Progressing');
    await expect(hasEvent(name, reason)).resolves.toMatchObject({ type: 'Warning' });
    expect(await controller.metric('uswarm_controller_sync_failures_total', { reason })).toBeGreaterThan(0);
    await apply(name);
    removeFault();
    await isSyncedAgain(name, SHOWN_WITHIN_MS + FIXTURE_RESYNC_S * 1_000);
    await expect(hasEvent(name, 'Synced')).resolves.toMatchObject({ type: 'Normal' });
  });

  it.each<[mode: HookMode, outcome: string, reason: string]>([
    ['down', 'unreachable', 'WebhookUnavailable'],
    ['error', 'refused', 'WebhookUnavailable'],
    ['malformed', 'invalid', 'WebhookInvalid'],
    ['slow', 'timeout', 'WebhookUnavailable'],
  ])(
    'reports a webhook in mode %s as reason, Event and metric only if it is needed, and recovers',
    async (mode, outcome, reason) => {
      const [healthy, deleted] = [await settledSwarm(), await settledSwarm()];
      const before = await outcomes(outcome);
      const untouched = await fixture.get(userSwarm(healthy));
      await fixture.hook.setMode(mode);
      cleanups.push(() => fixture.hook.setMode('none'));
      const created = newName();
      await apply(created);
      await fixture.delete(userSwarm(deleted));
      for (const [name, phase] of [
        [created, 'Progressing'],
        [deleted, 'Deleting'],
      ] as const) {
        const waiting = await shows(
          name,
          `has the reason ${reason}`,
          (object) => condition(object, 'Ready')?.reason === reason,
          OUTAGE_SHOWN_WITHIN_MS,
        );
        expect(status(waiting).phase).toBe(phase);
        expect(condition(waiting, 'Synced')).toMatchObject({ status: 'False', reason });
      }
      await expect(hasEvent(created, reason)).resolves.toMatchObject({ type: 'Warning' });
      expect(await outcomes(outcome)).toBeGreaterThan(before);
      // A UserSwarm without changes is not written, even after several resyncs.
      expect((await fixture.get(userSwarm(healthy)))?.metadata.resourceVersion).toBe(
        untouched?.metadata.resourceVersion,
      );
      expect(await fixture.get(service(deleted))).toBeDefined();
      await fixture.hook.setMode('none');
      await isSyncedAgain(created, 2 * SHOWN_WITHIN_MS);
      await eventually(async () => (await fixture.get(userSwarm(deleted))) === undefined, {
        description: 'the UserSwarm is deleted',
        timeoutMs: 2 * SHOWN_WITHIN_MS,
      });
    },
  );

  it('recovers when its resource kind is deleted and created again', async () => {
    const name = await settledSwarm();
    const crd = await fixture.deleteCrd();
    await eventually(async () => (await fixture.list('Service', fixture.namespace)).length === 0, {
      description: 'the children of the deleted UserSwarms are deleted',
      timeoutMs: RECOVERED_WITHIN_MS,
    });
    await eventually(async () => !controller.ready(), {
      description: 'the controller reports that it cannot read the cluster',
      timeoutMs: RECOVERED_WITHIN_MS,
    });
    await fixture.createCrd(crd);
    await apply(name);
    await suspended(name, RECOVERED_WITHIN_MS);
    await eventually(async () => controller.ready(), {
      description: 'the controller is ready',
      timeoutMs: RECOVERED_WITHIN_MS,
    });
    await expect(settledSwarm()).resolves.toEqual(expect.any(String));
  });

  it('PHASE-004 CTRL-002: reports RenderingFailed for an internal error of the webhook and keeps the children', async () => {
    const name = await settledSwarm();
    const uid = (await fixture.get(service(name)))?.metadata.uid;
    fixture.setRenderingFault(true);
    cleanups.push(() => fixture.setRenderingFault(false));
    // A change causes an immediate sync.
    await apply(name, { config: { defaultModel: 'another' } });
    const failed = await shows(name, 'is Error', (object) => status(object).phase === 'Error');
    expect(condition(failed, 'Ready')).toMatchObject({ status: 'False', reason: 'RenderingFailed' });
    expect((await fixture.get(service(name)))?.metadata.uid).toBe(uid);
    fixture.setRenderingFault(false);
    await shows(name, 'has a valid configuration', (object) => condition(object, 'ConfigValid')?.status === 'True');
    await suspended(name);
  });
});
