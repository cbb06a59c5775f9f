import { describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { NO_TRANSACTION } from '../../test/transaction.js';
import type { LeasedJob } from '../platform/jobs/job-queue.js';
import { createTurnCommits, LeaseLost } from './commit.js';
import { ReplyLimitExceeded } from './content/reply-limit.js';

function setUp() {
  const seen = {
    commits: [] as string[][],
    holds: true,
    ends: 0,
    broken: 0,
    written: [] as string[],
    beforeCommit: (): void => undefined,
  };
  const writes = createTurnCommits(
    {
      async withTransaction(run) {
        seen.written = [];
        const result = await run(NO_TRANSACTION);
        seen.beforeCommit();
        if (seen.broken > 0) {
          seen.broken -= 1;
          throw new Error('the connection was lost');
        }
        seen.commits.push(seen.written);
        return result;
      },
      withStatement: (run) => run(NO_TRANSACTION),
      jobs: {
        holds: async () => seen.holds,
        end: async () => {
          seen.ends += 1;
          return seen.holds;
        },
      },
      usageLock: sql``,
      progress: { save: async () => undefined, saveText: async () => undefined },
    },
    {} as LeasedJob,
  );
  const write = (name: string, error?: Error) => async (): Promise<string> => {
    await Promise.resolve();
    if (error !== undefined) throw error;
    seen.written.push(name);
    return name;
  };
  const committed: string[] = [];
  const later = (name: string, error?: Error) =>
    writes.commit(write(name, error), { as: 'later', committed: (result) => committed.push(result) });
  return { seen, writes, write, later, committed };
}

describe('writes of a turn', () => {
  it('are committed together with the next one, in their order, which returns after they are known to be committed', async () => {
    const { seen, writes, write, later, committed } = setUp();
    later('step');
    later('result');
    expect(seen.commits).toEqual([]);
    expect(await writes.commit(write('attempt'), { as: 'together' })).toBe('attempt');
    expect(seen.commits).toHaveLength(1);
    expect(seen.commits[0]?.toSorted()).toEqual(['attempt', 'result', 'step']);
    expect(committed).toEqual(['step', 'result']);
  });

  it('are committed alone if no other one follows soon', async () => {
    const { seen, later, committed } = setUp();
    later('result');
    while (committed.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(seen.commits).toEqual([['result']]);
  });

  it('store the last activity, after everything else', async () => {
    const { seen, writes, write } = setUp();
    writes.commit(write('step'), { as: 'later', committed: () => undefined, activity: write('writing') });
    await writes.commit(write('attempt'), { as: 'together', activity: write('thinking') });
    expect(seen.commits[0]?.at(-1)).toBe('thinking');
    expect(seen.commits[0]).not.toContain('writing');
  });

  it('are committed after the writes of usage if they read it', async () => {
    const { seen, writes, write } = setUp();
    writes.commit(write('usage'), { as: 'later', committed: () => undefined, usage: true });
    await writes.commit(write('reserve'), { as: 'together', usage: true });
    expect(seen.commits).toEqual([['usage', 'reserve']]);
  });

  it.each([
    [
      'are sent together with one that reads usage if they only append to the journal',
      { usage: true },
      ['next', 'result'],
    ],
    ['are sent before the next one that appends to the journal', { journal: true }, ['result', 'next']],
  ])('%s', async (_name, options, order) => {
    const { seen, writes, write } = setUp();
    const slowly = async (): Promise<string> => {
      await new Promise(setImmediate);
      return write('result')();
    };
    writes.commit(slowly, { as: 'later', committed: () => undefined, journal: true });
    await writes.commit(write('next'), { as: 'together', ...options });
    expect(seen.commits).toEqual([order]);
  });

  it('are committed with the next one if they are added while a transaction commits', async () => {
    const { seen, writes, write, later, committed } = setUp();
    later('read');
    seen.beforeCommit = () => {
      seen.beforeCommit = () => undefined;
      later('step');
    };
    await writes.flush();
    await writes.commit(write('tool'), { as: 'together' });
    expect(seen.commits.map((names) => names.toSorted())).toEqual([['read'], ['step', 'tool']]);
    expect(committed).toEqual(['read', 'step']);
  });

  it('are repeated by the next one if a commit fails', async () => {
    const { seen, writes, write, later, committed } = setUp();
    seen.broken = 1;
    later('result');
    await expect(writes.flush()).rejects.toThrow('the connection was lost');
    expect(committed).toEqual([]);
    await writes.commit(write('finish'));
    expect(seen.commits).toEqual([['result', 'finish']]);
    expect(committed).toEqual(['result']);
  });

  it('invariant 4: are not committed after another process has taken over the lease', async () => {
    const { seen, writes, write, later, committed } = setUp();
    later('result');
    seen.holds = false;
    await expect(writes.commit(write('attempt'), { as: 'together' })).rejects.toThrow(LeaseLost);
    await expect(writes.commit(write('activity'), { as: 'alone' })).rejects.toThrow(LeaseLost);
    expect([seen.commits, committed]).toEqual([[], []]);
  });

  it('include an activity in the transaction of those that wait, and store it alone if none does', async () => {
    const { seen, writes, write, later } = setUp();
    const alone: string[] = [];
    const showAlone = async () => void alone.push('alone');
    await writes.commit(showAlone, { as: 'unless others wait', activity: write('writing') });
    expect([seen.commits, alone]).toEqual([[], ['alone']]);
    later('read');
    await writes.commit(showAlone, { as: 'unless others wait', activity: write('writing') });
    expect([seen.commits, alone]).toEqual([[['read', 'writing']], ['alone']]);
  });

  it('are committed after the first one of the last transaction, which completes the job', async () => {
    const { seen, writes, write, later } = setUp();
    later('usage');
    await writes.commit(write('finish'), { as: 'last', first: async () => void (await write('follow-up')()) });
    expect(seen.commits).toEqual([['follow-up', 'usage', 'finish']]);
    expect(seen.ends).toBe(1);
    seen.holds = false;
    await expect(writes.commit(write('finish'), { as: 'last' })).rejects.toThrow(LeaseLost);
  });

  it('fail in one statement without the lease', async () => {
    const { writes } = setUp();
    expect(await writes.commit(async () => 'stored', { as: 'statement' })).toBe('stored');
    await expect(writes.commit(async () => undefined, { as: 'statement' })).rejects.toThrow(LeaseLost);
  });

  it('are reported to the next one if they exceed a limit, and do not prevent the end of the turn', async () => {
    const { seen, writes, write, later } = setUp();
    later('result', new ReplyLimitExceeded('runtime_output_invalid', 'entry_out_of_order'));
    await new Promise((resolve) => setTimeout(resolve, 60));
    await expect(writes.commit(write('attempt'), { as: 'together' })).rejects.toThrow(ReplyLimitExceeded);
    await writes.commit(write('finish'));
    expect(seen.commits).toEqual([['finish']]);
  });
});
