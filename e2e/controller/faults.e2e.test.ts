import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Condition, KubernetesObject, UserSwarmStatus } from '@uswarm/contract/userswarm';
import { eventually } from '../src/eventually.js';
import {
  type ControllerFixture,
  FIXTURE_RESYNC_S,
  openFixture,
  type RunningController,
  type Where,
} from './fixture.js';
import type { HookMode } from './hook-server.js';
import type { Fault, Passed } from './fault-proxy.js';

/** Seconds within which a cause shows, and within which it is over once its cause is. */
const SHOWN_WITHIN_MS = 10_000;
/** Milliseconds within which an outage of the webhook shows; one of less than ten seconds never does. */
const AWAY_WITHIN_MS = 20_000;
/** Milliseconds; an informer takes a silent connection for dead after 30 s. */
const NOTICED_WITHIN_MS = 60_000;

const isWatch = ({ path }: Passed): boolean => path.includes('watch=');
const status = (object: KubernetesObject | undefined): UserSwarmStatus => (object?.['status'] ?? {}) as UserSwarmStatus;
const condition = (object: KubernetesObject | undefined, wanted: string): Condition | undefined =>
  status(object).conditions?.find(({ type }) => type === wanted);
const refusal = (code: number, reason: string): Fault => ({
  kind: 'answer',
  status: code,
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: `told ${code}` }),
});

/** Everything is suspended here: nothing of it needs a pod. */
describe('the controller, on a real API server', () => {
  let fixture: ControllerFixture;
  let controller: RunningController;
  let count = 0;
  const healing: (() => void | Promise<void>)[] = [];

  beforeAll(async () => {
    fixture = await openFixture();
    controller = await fixture.start();
  });
  afterEach(async () => {
    for (const heal of healing.splice(0)) await heal();
  });
  afterAll(() => fixture.close());

  const userSwarm = (name: string): Where => ({ kind: 'UserSwarm', name });
  const service = (name: string): Where => ({
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
    eventually(`${name}: ${what}`, { withinMs }, async () => {
      const object = await fixture.get(userSwarm(name));
      return object !== undefined && holds(object) ? object : undefined;
    });
  const suspended = (name: string, withinMs?: number): Promise<KubernetesObject> =>
    shows(name, 'is Suspended', (object) => status(object).phase === 'Suspended', withinMs);
  /** The phase comes first: it is the webhook's, and says nothing of what could be written. */
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
  /** Somebody takes a child away, on a way that has no faults; it comes back. */
  async function repairs(name: string, withinMs?: number): Promise<void> {
    const uid = (await fixture.get(service(name)))?.metadata.uid;
    await fixture.delete(service(name));
    await comesBack(name, uid, withinMs);
  }
  const comesBack = (name: string, uid: string | undefined, withinMs = SHOWN_WITHIN_MS): Promise<KubernetesObject> =>
    eventually(`the Service of ${name} is made again`, { withinMs }, async () => {
      const found = await fixture.get(service(name));
      return found !== undefined && found.metadata.uid !== uid ? found : undefined;
    });
  const inject = (matches: (passed: Passed) => boolean, fault: Fault): (() => void) => {
    const heal = fixture.proxy.inject(matches, fault);
    healing.push(heal);
    return heal;
  };
  const faults = (fault: string): Promise<number> =>
    controller.metric('uswarm_controller_watch_failures_total', { fault });
  const eventsOf = async (name: string, reason: string): Promise<KubernetesObject[]> =>
    (await fixture.list('Event', 'default')).filter(
      (event) =>
        (event['involvedObject'] as { name?: string } | undefined)?.name === name && event['reason'] === reason,
    );
  const hasEvent = (name: string, reason: string): Promise<KubernetesObject> =>
    eventually(`${name} has an Event ${reason}`, { withinMs: SHOWN_WITHIN_MS }, async () =>
      (await eventsOf(name, reason)).at(0),
    );
  const outcomes = (outcome: string): Promise<number> =>
    controller.metric('uswarm_controller_hook_duration_seconds', { outcome });

  describe('loses its watches', () => {
    it.each<[what: string, fault: Fault, counted: string]>([
      [
        '410 Gone in the stream',
        {
          kind: 'line',
          text: '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}',
        },
        'gone',
      ],
      ['rubbish in the stream', { kind: 'line', text: '{"type":"ADDED","object":{"metad' }, 'garbage'],
      ['410 Gone for each new watch', refusal(410, 'Expired'), 'gone'],
      ['500 for each new watch', refusal(500, 'InternalError'), 'refused'],
    ])('%s: goes on, and counts it', async (_what, fault, counted) => {
      const name = await settledSwarm();
      const before = await faults(counted);
      const heal = inject(isWatch, fault);
      await eventually('it is counted', { withinMs: SHOWN_WITHIN_MS }, async () =>
        (await faults(counted)) > before ? true : undefined,
      );
      heal();
      await repairs(name, NOTICED_WITHIN_MS);
      await expect(settledSwarm()).resolves.toEqual(expect.any(String));
    });

    it('silence: takes the connection for dead, and catches up with what happened meanwhile', async () => {
      const name = await settledSwarm();
      const before = await faults('silence');
      const heal = inject(isWatch, { kind: 'silence' });
      const uid = (await fixture.get(service(name)))?.metadata.uid;
      await fixture.delete(service(name));
      await eventually('it is counted', { withinMs: NOTICED_WITHIN_MS }, async () =>
        (await faults('silence')) > before ? true : undefined,
      );
      heal();
      await expect(comesBack(name, uid, NOTICED_WITHIN_MS)).resolves.toMatchObject({ kind: 'Service' });
    });
  });

  it('has its API server restarted: carries out what was wished while it was away', async () => {
    const name = await settledSwarm();
    const late = newName();
    const before = await faults('connection');
    await fixture.proxy.cut();
    healing.push(() => fixture.proxy.mend());
    await apply(late);
    const uid = (await fixture.get(service(name)))?.metadata.uid;
    await fixture.delete(service(name));
    await sleep(3_000);
    await fixture.proxy.mend();
    await comesBack(name, uid, NOTICED_WITHIN_MS);
    await suspended(late, NOTICED_WITHIN_MS);
    // A watch that was silent before may have been without news for too long to count as alive until now.
    await eventually('it is ready', { withinMs: NOTICED_WITHIN_MS }, async () => controller.ready() || undefined);
    expect(await faults('connection')).toBeGreaterThan(before);
  });

  it.each<[what: string, fault: Fault, reason: string]>([
    ['is refused', refusal(403, 'Forbidden'), 'Forbidden'],
    ['is told that an object is invalid', refusal(422, 'Invalid'), 'ApplyFailed'],
  ])('%s when it writes: shows it in condition, Event and metric, until it is over', async (_what, fault, reason) => {
    const heal = inject(({ method, path }) => method === 'POST' && /\/(services|deployments)\?/.test(path), fault);
    const name = newName();
    await apply(name, { suspend: false });
    const failing = await shows(name, `is ${reason}`, (object) => condition(object, 'Ready')?.reason === reason);
    expect(condition(failing, 'Synced')).toMatchObject({ status: 'False', reason });
    expect(status(failing).phase).toBe('Progressing');
    await expect(hasEvent(name, reason)).resolves.toMatchObject({ type: 'Warning' });
    expect(await controller.metric('uswarm_controller_sync_failures_total', { reason })).toBeGreaterThan(0);
    await apply(name);
    heal();
    await isSyncedAgain(name, SHOWN_WITHIN_MS + FIXTURE_RESYNC_S * 1_000);
    await expect(hasEvent(name, 'Synced')).resolves.toMatchObject({ type: 'Normal' });
  });

  it.each<[mode: HookMode, outcome: string]>([
    ['down', 'unreachable'],
    ['error', 'refused'],
    ['rubbish', 'invalid'],
    ['slow', 'timeout'],
  ])(
    'has a webhook that is %s: says so in REASON, Event and metric where it is needed, and goes on after',
    async (mode, outcome) => {
      const [healthy, leaving] = [await settledSwarm(), await settledSwarm()];
      const before = await outcomes(outcome);
      const untouched = await fixture.get(userSwarm(healthy));
      await fixture.hook.setMode(mode);
      healing.push(() => fixture.hook.setMode('none'));
      const fresh = newName();
      await apply(fresh);
      await fixture.delete(userSwarm(leaving));
      for (const [name, phase] of [
        [fresh, 'Progressing'],
        [leaving, 'Deleting'],
      ] as const) {
        const waiting = await shows(
          name,
          'says in REASON that the webhook is away',
          (object) => condition(object, 'Ready')?.reason === 'WebhookUnavailable',
          AWAY_WITHIN_MS,
        );
        expect(status(waiting).phase).toBe(phase);
        expect(condition(waiting, 'Synced')).toMatchObject({ status: 'False', reason: 'WebhookUnavailable' });
      }
      await expect(hasEvent(fresh, 'WebhookUnavailable')).resolves.toMatchObject({ type: 'Warning' });
      expect(await outcomes(outcome)).toBeGreaterThan(before);
      // Nothing is written to one that is as it was, past several resyncs.
      expect((await fixture.get(userSwarm(healthy)))?.metadata.resourceVersion).toBe(
        untouched?.metadata.resourceVersion,
      );
      expect(await fixture.get(service(leaving))).toBeDefined();
      await fixture.hook.setMode('none');
      await isSyncedAgain(fresh, 2 * SHOWN_WITHIN_MS);
      await eventually('the deleted one is gone', { withinMs: 2 * SHOWN_WITHIN_MS }, async () =>
        (await fixture.get(userSwarm(leaving))) === undefined ? true : undefined,
      );
    },
  );

  it('PHASE-004 CTRL-002: RenderingFailed for a fault in the webhook, and what is there stays', async () => {
    const name = await settledSwarm();
    const uid = (await fixture.get(service(name)))?.metadata.uid;
    fixture.setRenderingFault(true);
    healing.push(() => fixture.setRenderingFault(false));
    // A change, so that it is rendered at once.
    await apply(name, { config: { defaultModel: 'another' } });
    const failed = await shows(name, 'is Error', (object) => status(object).phase === 'Error');
    expect(condition(failed, 'Ready')).toMatchObject({ status: 'False', reason: 'RenderingFailed' });
    expect((await fixture.get(service(name)))?.metadata.uid).toBe(uid);
    fixture.setRenderingFault(false);
    await shows(name, 'is valid again', (object) => condition(object, 'ConfigValid')?.status === 'True');
    await suspended(name);
  });
});
