import { Code } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import { EntryKind } from '@uswarm/runtime-proto';
import { ANSWERED, type Call, chunk, createTurnHarness, done, entry, failure } from '../../../test/turn-harness.js';
import { MAX_ENTRY_BYTES } from './journal.store.js';

const FEATURES = ['journal.1'];
const lost = failure(Code.NotFound);

/** Runs a turn with a runtime that follows the script. */
async function play(script: Call[], features = FEATURES) {
  const harness = createTurnHarness(script, { features });
  const result = await harness.run();
  return { harness, result };
}

const journals = ({ recorded }: ReturnType<typeof createTurnHarness>) =>
  recorded.requests.map(({ generation, journaled, journal }) => ({
    generation,
    journaled,
    numbers: journal.map(({ number }) => number),
  }));

describe('a turn with a journal', () => {
  it('commits each barrier, after its event is stored', async () => {
    const { harness } = await play([
      { events: [chunk('4'), entry(1), chunk('2'), entry(2), done()], barriers: [2, 4] },
    ]);
    expect(harness.recorded.commits).toEqual([2, 4]);
    expect(harness.reply()).toEqual({ text: '42', status: 'delivered' });
  });

  it('continues after its journal in the next generation', async () => {
    const result = entry(2, EntryKind.RESULT, '{"callId":"c"}');
    const { harness } = await play([{ events: [entry(1), result] }, lost, ANSWERED]);
    expect(journals(harness)).toEqual([
      { generation: 1, journaled: true, numbers: [] },
      { generation: 1, journaled: true, numbers: [1, 2] },
      { generation: 2, journaled: true, numbers: [1, 2] },
    ]);
    expect(harness.recorded.requests[2]?.journal[1]).toMatchObject({ kind: EntryKind.RESULT, body: '{"callId":"c"}' });
    expect(harness.reply()?.text).toBe('42');
  });

  it('survives any number of lost runtimes that made progress, and fails after two in a row that made none', async () => {
    const progress = Array.from({ length: 10 }, (_, index): Call[] => [{ events: [entry(index + 1)] }, lost]).flat();
    const answered = await play([...progress, ANSWERED]);
    expect(answered.harness.reply()?.text).toBe('42');
    expect(answered.harness.recorded.requests.at(-1)).toMatchObject({ generation: 11 });

    const failed = await play([{ events: [entry(1)] }, lost, lost, lost]);
    expect(failed.harness.recorded.ended).toEqual({ status: 'failed', errorCode: 'runtime_lost' });
    expect(journals(failed.harness).map(({ generation }) => generation)).toEqual([1, 1, 2, 3]);
  });

  it('starts each generation with the context of the first one', async () => {
    let now = 1_000;
    const clock = { now: () => new Date((now += 1_000)) };
    const script: Call[] = [{ events: [entry(1)] }, lost, ANSWERED];
    const { recorded, run } = createTurnHarness(script, { features: FEATURES, clock });
    await run();
    const [first, , resumed] = recorded.requests.map(({ context }) => context);
    expect(resumed).toEqual(first);
    expect(first?.nowMs).toBeGreaterThan(0n);
  });

  it('is not sent to a runtime without the feature, which starts from the beginning', async () => {
    const { harness } = await play([{ events: [entry(1)] }, lost, ANSWERED], []);
    expect(journals(harness).at(-1)).toEqual({ generation: 2, journaled: false, numbers: [] });
  });

  it.each([
    ['skips a number', entry(2)],
    ['is too large', entry(1, EntryKind.STEP, 'x'.repeat(MAX_ENTRY_BYTES + 1))],
    ['has a NUL character', entry(1, EntryKind.STEP, '\u0000')],
    ['is of an unknown kind', entry(1, EntryKind.UNSPECIFIED)],
  ])('fails with an entry that %s', async (_what, invalid) => {
    const { harness } = await play([{ events: [invalid] }]);
    expect(harness.recorded.ended).toEqual({ status: 'failed', errorCode: 'runtime_output_invalid' });
  });
});
