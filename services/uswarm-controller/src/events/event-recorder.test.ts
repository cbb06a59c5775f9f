import { beforeEach, describe, expect, it } from '@jest/globals';
import { KubeError, type KubernetesObject } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { createEventRecorder, type EventRecorder } from './event-recorder.js';
import { childEvent, createStatusEvents, worthRecording } from './event-messages.js';
import type { Status } from '../status/merge.js';

const userSwarm: KubernetesObject = {
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'workspace-a', uid: 'u1', resourceVersion: '4' },
};
const READY = { type: 'Normal', reason: 'Ready', message: 'fine' } as const;

describe('the recorder of Events', () => {
  let created: KubernetesObject[];
  let patched: [string, unknown][];
  let now: number;
  let fault: Error | undefined;
  let recorder: EventRecorder;
  let dropped: number;

  beforeEach(() => {
    created = [];
    patched = [];
    now = Date.parse('2030-01-01T00:00:00Z');
    fault = undefined;
    dropped = 0;
    recorder = createEventRecorder({
      client: {
        create: async (_resource, object) => {
          if (fault !== undefined) throw fault;
          created.push(object);
          return object;
        },
        mergePatch: async (_resource, { name }, patch) => {
          if (fault !== undefined) throw fault;
          patched.push([name, patch]);
          return userSwarm;
        },
      },
      namespace: 'default',
      component: 'uswarm-controller',
      instance: 'pod-1',
      clock: { now: () => new Date(now) },
      logger: silentLogger,
      onDropped: () => (dropped += 1),
    });
  });
  const record = async (event: Parameters<EventRecorder['record']>[1], about = userSwarm): Promise<void> => {
    recorder.record(about, event);
    await recorder.close();
  };

  it('writes an Event about the UserSwarm, as kubectl describe shows them', async () => {
    await record(READY);
    expect(created).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { namespace: 'default', name: expect.stringMatching(/^workspace-a\.[0-9a-f]{16}$/) },
        involvedObject: {
          apiVersion: 'uswarm.dev/v1alpha1',
          kind: 'UserSwarm',
          name: 'workspace-a',
          uid: 'u1',
          resourceVersion: '4',
        },
        type: 'Normal',
        reason: 'Ready',
        message: 'fine',
        count: 1,
        firstTimestamp: '2030-01-01T00:00:00Z',
        lastTimestamp: '2030-01-01T00:00:00Z',
        source: { component: 'uswarm-controller' },
        reportingComponent: 'uswarm-controller',
        reportingInstance: 'pod-1',
      },
    ]);
  });

  it('increases the count of an equal Event within ten minutes, and creates a new one afterwards', async () => {
    await record(READY);
    now += 60_000;
    await record(READY);
    now += 9 * 60_000;
    await record(READY);
    expect(created).toHaveLength(1);
    const name = created[0]?.metadata.name;
    expect(patched).toEqual([
      [name, { count: 2, lastTimestamp: '2030-01-01T00:01:00Z' }],
      [name, { count: 3, lastTimestamp: '2030-01-01T00:10:00Z' }],
    ]);
    now += 11 * 60_000;
    await record(READY);
    expect(created).toHaveLength(2);
  });

  it('creates separate Events for different objects, reasons and messages', async () => {
    await record(READY);
    await record({ ...READY, message: 'still' });
    await record(READY, { ...userSwarm, metadata: { ...userSwarm.metadata, uid: 'u2' } });
    expect(created).toHaveLength(3);
  });

  it('creates the Event again if the counted one has expired', async () => {
    await record(READY);
    fault = new KubeError(404, { reason: 'NotFound' });
    await record(READY);
    fault = undefined;
    await record(READY);
    expect(created.length + patched.length).toBe(2);
  });

  it('continues after a failed write', async () => {
    fault = new Error('no');
    await record(READY);
    fault = undefined;
    await record({ ...READY, reason: 'Suspended' });
    expect(created.map(({ reason }) => reason)).toEqual(['Suspended']);
  });

  it('drops Events above its limit and counts them', async () => {
    for (let at = 0; at < 1_100; at += 1) recorder.record(userSwarm, { ...READY, message: `${at}` });
    expect(dropped).toBeGreaterThan(90);
    await recorder.close();
    expect(created).toHaveLength(1_100 - dropped);
  });
});

describe('the Events of a UserSwarm', () => {
  const status = (phase: string, synced?: object): Record<string, unknown> => ({
    phase,
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Available', message: 'It answers.' },
      ...(synced === undefined ? [] : [{ type: 'Synced', reason: 'Synced', message: '', ...synced }]),
    ],
  });
  const progressing = (reason: string, synced: object = {}): Record<string, unknown> => ({
    phase: 'Progressing',
    conditions: [
      { type: 'Ready', status: 'False', reason, message: 'Why.' },
      { type: 'Synced', status: 'True', reason: 'Synced', message: '', ...synced },
    ],
  });
  const ready = (reason: string): Status => ({
    phase: 'Ready',
    conditions: [{ type: 'Ready', status: 'True', reason, message: 'Why.' }],
  });
  const conflict = { status: 'False', reason: 'NameConflict', message: 'taken' };
  const statusEvents = (before: Status | undefined, after: Status) =>
    createStatusEvents()
      .changed('u', before, after)
      .map(({ event }) => event);

  it.each([
    [undefined, status('Progressing'), []],
    [undefined, progressing('ImagePullBackOff'), ['Warning ImagePullBackOff Why.']],
    [undefined, status('Suspended'), ['Normal Suspended Suspended: It answers.']],
    [status('Progressing'), status('Ready'), ['Normal Ready Progressing → Ready: It answers.']],
    [status('Ready'), status('Error'), ['Warning Error Ready → Error: It answers.']],
    [status('Ready'), progressing('OOMKilled'), ['Warning OOMKilled Ready → Progressing: Why.']],
    [status('Ready'), progressing('Starting'), ['Normal Progressing Ready → Progressing: Why.']],
    [status('Ready'), status('Ready'), []],
    [status('Ready'), status('Ready', conflict), ['Warning NameConflict taken']],
    [status('Ready', conflict), status('Ready', conflict), []],
    [status('Ready', conflict), status('Ready', { status: 'True', message: 'Done.' }), ['Normal Synced Done.']],
    [status('Ready'), status('Ready', { status: 'True' }), []],
    [progressing('Starting'), progressing('ImagePullBackOff'), ['Warning ImagePullBackOff Why.']],
    [progressing('ImagePullBackOff'), progressing('ImagePullBackOff'), []],
    [progressing('ImagePullBackOff'), progressing('CrashLoopBackOff'), ['Warning CrashLoopBackOff Why.']],
    [progressing('CrashLoopBackOff'), progressing('Starting'), []],
    [ready('Available'), ready('Unreachable'), ['Warning Unreachable Why.']],
    [ready('Unreachable'), ready('Unreachable'), []],
    [ready('Unreachable'), ready('Available'), ['Normal Reachable The orchestrator reaches the runtime again.']],
    [ready('Unreachable'), progressing('OOMKilled'), ['Warning OOMKilled Ready → Progressing: Why.']],
    [progressing('Starting', conflict), progressing('NameConflict', conflict), []],
    [progressing('Starting', conflict), progressing('NameConflict', { message: 'Done.' }), ['Normal Synced Done.']],
  ])('records status changes (case %#)', (before, after, expected) => {
    const events = statusEvents(before, after).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
    expect(events).toEqual(expected);
  });

  /** Reasons of one UserSwarm's recorded Events. */
  const recordedAlong = (...statuses: Status[]) => {
    const events = createStatusEvents();
    return statuses.flatMap((after, index) =>
      events
        .changed('u', statuses[index - 1], after)
        .filter(({ isRecorded }) => isRecorded)
        .map(({ event }) => event.reason),
    );
  };
  /** `since`: the second in which it became Ready, or lost Ready. */
  const at = (since: number, phase: string, reason: string): Status => ({
    phase,
    conditions: [
      {
        type: 'Ready',
        status: phase === 'Ready' ? 'True' : 'False',
        reason,
        message: '',
        lastTransitionTime: `2030-01-01T00:00:0${since}Z`,
      },
      {
        type: 'Suspended',
        status: 'False',
        reason: 'Running',
        message: '',
        lastTransitionTime: '2030-01-01T00:00:00Z',
      },
    ],
  });

  it('does not record the end of a start without a Warning', () => {
    expect(recordedAlong(at(0, 'Progressing', 'Starting'), at(2, 'Ready', 'Available'))).toEqual([]);
  });

  it('records the end of a start with a Warning', () => {
    const reasons = recordedAlong(
      at(0, 'Progressing', 'Starting'),
      at(0, 'Progressing', 'CrashLoopBackOff'),
      at(0, 'Progressing', 'Starting'),
      at(2, 'Ready', 'Available'),
    );
    expect(reasons).toEqual(['CrashLoopBackOff', 'Ready']);
  });

  it('records that a runtime is Ready again', () => {
    const reasons = recordedAlong(
      at(1, 'Ready', 'Available'),
      at(2, 'Progressing', 'Starting'),
      at(4, 'Ready', 'Available'),
    );
    expect(reasons).toEqual(['Ready', 'Progressing', 'Ready']);
  });

  it.each(['QuotaExceeded', 'Forbidden', 'ApplyFailed'])(
    'records a pod that is rejected with %s although the children were written',
    (reason) => {
      expect(statusEvents(progressing('Starting'), progressing(reason))).toEqual([
        { type: 'Warning', reason, message: 'Why.' },
      ]);
    },
  );

  it.each(['Forbidden', 'ApplyFailed'])('records a failed write of a child once: %s', (reason) => {
    const failed = { status: 'False', reason, message: 'Refused.' };
    const event = { type: 'Warning', reason, message: 'Refused.' };
    expect(statusEvents(progressing('Starting'), progressing('Starting', failed))).toEqual([event]);
    expect(statusEvents(progressing('Starting', failed), progressing(reason, failed))).toEqual([]);
  });

  const object = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'ns' } };
  const steps = (['create', 'update', 'delete'] as const).map((verb) => ({
    verb,
    group: 'Service.v1' as const,
    object,
  }));

  it('records changes of children except their creation for a new UserSwarm', () => {
    expect(steps.map((step) => worthRecording(step, undefined))).toEqual([false, true, true]);
    expect(steps.map((step) => worthRecording(step, status('Ready')))).toEqual([true, true, true]);
  });

  it('names the child that was created, updated or deleted', () => {
    const events = steps.map(childEvent);
    expect(events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      'ChildCreated: Created Service ns/s',
      'ChildUpdated: Updated Service ns/s',
      'ChildDeleted: Deleted Service ns/s',
    ]);
  });
});
