import { Code } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import { EntryKind } from '@uswarm/runtime-proto';
import { MAX_TURN_JOURNAL_BYTES } from '@uswarm/service-kit';
import { ANSWERED, type Call, chunk, createTurnHarness, done, entry, failure } from '../../../test/turn-harness.js';
import { MAX_ENTRY_BYTES, MAX_ROW_BYTES } from './journal.store.js';

const FEATURES = ['journal.1'];
const lost = failure(Code.NotFound);

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
      // The runtime has the entries, or has lost the turn.
      { generation: 1, journaled: true, numbers: [] },
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

describe('a journal with large entries', () => {
  const LARGE = ['journal.1', 'tools.1', 'journal.2'];
  const body = JSON.stringify('x'.repeat(MAX_ROW_BYTES));
  const largeEntry = entry(1, EntryKind.STEP, body);

  /** @param down selects the object store uses that fail, counted from 1 */
  function withStore(script: Call[], down: (use: number) => boolean, features = LARGE) {
    let uses = 0;
    const onStore = (): void => {
      uses += 1;
      if (down(uses)) throw new Error('no answer');
    };
    return createTurnHarness(script, { features, onStore });
  }

  it('is sent whole to the next generation, with its limits', async () => {
    const { recorded, run } = withStore([{ events: [largeEntry] }, lost, ANSWERED], () => false);
    await run();
    expect(recorded.journal[0]).toMatchObject({ size: Buffer.byteLength(body) });
    expect(recorded.requests[2]).toMatchObject({
      journal: [{ number: 1, body }],
      journalLimits: { entryBytes: MAX_ENTRY_BYTES, journalBytes: MAX_TURN_JOURNAL_BYTES },
    });
  });

  it('continues after short outages of the object store', async () => {
    const { recorded, run, reply } = withStore([{ events: [largeEntry] }, lost, ANSWERED], (use) => use % 2 === 1);
    await run();
    expect(recorded.requests[2]?.journal[0]?.body).toBe(body);
    expect(reply()?.text).toBe('42');
  });

  it('ends the turn with its text if it cannot be stored', async () => {
    const { recorded, run, reply } = withStore([{ events: [chunk('So far'), largeEntry] }], () => true);
    await run();
    expect(recorded.ended).toEqual({ status: 'failed', errorCode: 'storage_unavailable' });
    expect(reply()).toEqual({ text: 'So far', status: 'incomplete' });
    expect(recorded.stops).toEqual([{ turnId: 't', generation: 1 }]);
  });

  it('ends the turn if it cannot be read, and does not start it from the beginning', async () => {
    const { recorded, run } = withStore([{ events: [largeEntry] }, lost, ANSWERED], (use) => use > 1);
    await run();
    expect(recorded.ended).toEqual({ status: 'failed', errorCode: 'storage_unavailable' });
    expect(recorded.requests).toHaveLength(2);
  });

  it('is not sent to a runtime that cannot read it, which gets no tools with effects', async () => {
    const large = Array.from({ length: 5 }, (_, index) => entry(index + 1, EntryKind.STEP, 'x'.repeat(500_000)));
    const script: Call[] = [{ events: large }, lost, ANSWERED];
    const { recorded, run } = withStore(script, () => false, ['journal.1', 'tools.1']);
    await run();
    expect(recorded.requests[2]).toMatchObject({ generation: 2, journaled: false, journal: [], requestedTools: [] });
  });

  it('tells only runtimes with the feature about calls of earlier turns', async () => {
    const call = {
      tool: 'search',
      arguments: '{}',
      failed: false,
      sources: [{ title: 'A', address: 'https://a.example/' }],
    };
    const told = async (features: string[]) => {
      const { recorded, run } = createTurnHarness([ANSWERED], { features, recentCalls: [call] });
      await run();
      return recorded.requests[0]?.recentCalls ?? [];
    };
    expect(await told(LARGE)).toMatchObject([call]);
    expect(await told(['journal.1', 'tools.1'])).toEqual([]);
  });
});
