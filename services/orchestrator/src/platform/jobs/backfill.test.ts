import { describe, expect, it } from '@jest/globals';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import { backfill } from './backfill.js';
import type { NewJob } from './job-queue.js';
import type { LeasedJob } from './leased-job.js';

const NIL = '00000000-0000-0000-0000-000000000000';
const job = (subjectId: string) => ({ subjectId, workspaceId: NIL }) as LeasedJob;

/** A table whose rows have the ids '1' to `rows`, rewritten two at a time. */
function table(rows: number, afterBatch: () => void = () => undefined) {
  const rewritten: number[] = [];
  const enqueued: NewJob[] = [];
  const { handle } = backfill({
    type: 'refill',
    withTransaction: (use) => use(NO_TRANSACTION),
    jobs: { enqueue: (next) => Promise.resolve(void enqueued.push(next)) },
    rewrite(after) {
      const from = after === NIL ? 1 : Number(after) + 1;
      const batch = [from, from + 1].filter((id) => id <= rows);
      rewritten.push(...batch);
      afterBatch();
      return Promise.resolve(batch.at(-1)?.toString());
    },
  });
  return { handle, rewritten, enqueued };
}

describe('the job of a backfill', () => {
  it('rewrites all rows of a small table and ends', async () => {
    const { handle, rewritten, enqueued } = table(5);
    const result = await handle(job(NIL), new AbortController().signal);
    expect({ result, rewritten, enqueued }).toEqual({
      result: { done: true },
      rewritten: [1, 2, 3, 4, 5],
      enqueued: [],
    });
  });

  it('continues with a further job after the last rewritten row', async () => {
    const { handle, rewritten, enqueued } = table(45);
    await handle(job(NIL), new AbortController().signal);
    expect(enqueued).toEqual([{ kind: 'refill', subjectId: '40', workspaceId: NIL }]);
    await handle(job('40'), new AbortController().signal);
    expect(rewritten).toEqual(Array.from({ length: 45 }, (_, index) => index + 1));
  });

  it('keeps its progress when its process stops', async () => {
    const stopping = new AbortController();
    const { handle, enqueued } = table(45, () => stopping.abort());
    expect(await handle(job(NIL), stopping.signal)).toEqual({ done: true });
    expect(enqueued).toEqual([{ kind: 'refill', subjectId: '2', workspaceId: NIL }]);
  });

  it('stays due if its process stops before the first batch', async () => {
    const { handle, enqueued } = table(45);
    expect(await handle(job(NIL), AbortSignal.abort())).toEqual({ againInMs: 0 });
    expect(enqueued).toEqual([]);
  });
});
