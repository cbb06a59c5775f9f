import { describe, expect, it } from '@jest/globals';
import type { Condition, UserSwarm } from '@uswarm/contract/userswarm';
import { nextStatus, type Status, SYNCED, type Synced, syncedChanged, syncedOf, withSynced } from './merge.js';

const NOW = new Date('2030-01-01T00:00:00.123Z');
const condition = (type: string, status: string, fields: object = {}): Condition =>
  ({ type, status, reason: 'R', message: 'm', lastTransitionTime: '2029-01-01T00:00:00Z', ...fields }) as Condition;
const parent = (status?: object): UserSwarm =>
  ({ metadata: { name: 'w', generation: 4 }, ...(status === undefined ? {} : { status }) }) as UserSwarm;
const FAILED: Synced = { status: 'False', reason: 'NameConflict', message: 'taken' };

describe('the status after a reconcile', () => {
  const stored = { phase: 'Ready', conditions: [condition('Ready', 'True'), condition('Synced', 'True')] };
  const answered = { phase: 'Progressing', conditions: [condition('Synced', 'Unknown'), condition('Ready', 'False')] };

  it('is the response of the webhook with the observed generation and our Synced', () => {
    expect(nextStatus(parent(stored), answered, SYNCED, NOW)).toEqual({
      phase: 'Progressing',
      observedGeneration: 4,
      conditions: [
        {
          type: 'Synced',
          status: 'True',
          observedGeneration: 4,
          reason: 'Synced',
          message: SYNCED.message,
          lastTransitionTime: '2029-01-01T00:00:00Z',
        },
        condition('Ready', 'False'),
      ],
    });
  });

  it('changes the transition time of Synced only with its status', () => {
    const flipped = nextStatus(parent(stored), answered, FAILED, NOW);
    expect(syncedOf(flipped)).toMatchObject({ status: 'False', lastTransitionTime: '2030-01-01T00:00:00Z' });
    const again = nextStatus(parent(flipped), answered, { ...FAILED, reason: 'Forbidden' }, new Date());
    expect(syncedOf(again)).toMatchObject({ reason: 'Forbidden', lastTransitionTime: '2030-01-01T00:00:00Z' });
  });

  it('is the stored status except for Synced without a response', () => {
    const after = nextStatus(parent({ ...stored, observedGeneration: 3 }), undefined, FAILED, NOW);
    expect(after).toMatchObject({ phase: 'Ready', observedGeneration: 3 });
    expect((after['conditions'] as Condition[])[0]).toEqual(condition('Ready', 'True'));
    expect(syncedOf(after)).toMatchObject({ status: 'False', reason: 'NameConflict' });
  });

  it('names the failure as Ready and Synced without a response and a stored status', () => {
    const after = nextStatus(parent(), undefined, FAILED, NOW);
    const { reason, message } = FAILED;
    expect(after).toMatchObject({
      phase: 'Progressing',
      conditions: [
        { type: 'Ready', status: 'False', reason, message },
        { type: 'Synced', status: 'False', reason, message },
      ],
    });
  });

  it.each<[what: string, answered: Status, synced: Synced, reason: string]>([
    ['no status', {}, SYNCED, 'WebhookInvalid'],
    [
      'no condition Ready',
      { phase: 'Progressing', conditions: [condition('Other', 'True')] },
      SYNCED,
      'WebhookInvalid',
    ],
    ['no status, and the children cannot be applied', {}, FAILED, 'NameConflict'],
  ])('has phase and Ready although the webhook returns %s', (_what, given, synced, reason) => {
    const after = nextStatus(parent(), given, synced, NOW);
    const ready = (after['conditions'] as Condition[]).find(({ type }) => type === 'Ready');
    expect({ phase: after['phase'], ready }).toMatchObject({
      phase: 'Progressing',
      ready: { status: 'False', reason },
    });
  });

  it('is unchanged without a response and without a verdict', () => {
    expect(nextStatus(parent(stored), undefined, undefined, NOW)).toEqual(stored);
    expect(nextStatus(parent(), undefined, undefined, NOW)).toEqual({});
  });

  it('keeps the Synced of the response without a verdict', () => {
    expect(nextStatus(parent(stored), answered, undefined, NOW)).toEqual({ ...answered, observedGeneration: 4 });
  });

  it('is equal for equal reconciles at any time', () => {
    const once = nextStatus(parent(stored), answered, SYNCED, NOW);
    expect(nextStatus(parent(once), answered, SYNCED, new Date(0))).toEqual(once);
  });

  it('truncates a message to the maximum length of a condition', () => {
    const long = withSynced({}, { ...FAILED, message: 'x'.repeat(5_000) }, { stored: {}, generation: 1, now: NOW });
    expect(syncedOf(long)?.message).toHaveLength(1_024);
  });

  it('handles a status whose conditions are not a list', () => {
    expect(nextStatus(parent({ conditions: 'none' }), { conditions: 7 }, SYNCED, NOW)['conditions']).toMatchObject([
      { type: 'Ready', reason: 'WebhookInvalid' },
      { type: 'Synced' },
    ]);
  });
});

describe('syncedChanged', () => {
  const says = (fields: object): Status => ({ conditions: [condition('Synced', 'False', fields)] });
  it.each([
    [undefined, says({}), true],
    [undefined, withSynced({}, SYNCED, { stored: undefined, generation: 1, now: NOW }), false],
    [says({}), says({}), false],
    [says({ lastTransitionTime: 'a' }), says({ lastTransitionTime: 'b' }), false],
    [says({ observedGeneration: 1 }), says({ observedGeneration: 2 }), false],
    [says({ reason: 'A' }), says({ reason: 'B' }), true],
    [says({ message: 'a' }), says({ message: 'b' }), true],
    [says({ status: 'True' }), says({}), true],
  ])('%#', (before, after, changed) => expect(syncedChanged(before, after)).toBe(changed));
});
