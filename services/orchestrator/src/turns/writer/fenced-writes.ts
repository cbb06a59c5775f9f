import type { RawBuilder } from 'kysely';
import type { Transaction, WithTransaction } from '../../platform/database/database.js';
import { pipelined } from '../../platform/database/pipelined.js';
import type { JobQueue, LeasedJob } from '../../platform/jobs/job-queue.js';
import { ReplyLimitExceeded } from '../content/reply-limit.js';

/** Another replica holds the lease. Nothing may be written. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

/** One transaction's writes. Runs again if the transaction is repeated. */
export type Write<T> = (tx: Transaction) => Promise<T>;

/** Like `Write`. `isLast`: the transaction completes the job. */
export type LaterWrite<T> = (tx: Transaction, isLast: boolean) => Promise<T>;

/** Called with each acknowledged write. */
export interface ProgressWrite {
  /** @param completes true for the last write of the event that is being applied */
  write(tx: Transaction, completes: boolean): Promise<void>;
  committed(): void;
}

export interface WriteOptions {
  /** Stored last, because agents come last in the lock order. Only a transaction's latest activity is stored. */
  activity?: Write<unknown> | undefined;
  /** Set if it reads or writes usage: such writes are sent one after the other, and have the usage lock. */
  usage?: boolean;
  /** Set if it appends to the journal: such writes are sent one after the other. */
  journal?: boolean;
}

export interface TogetherOptions<T> extends WriteOptions {
  /** True if the event that is being applied is then complete. Default: it is. */
  completes?: (result: T) => boolean;
}

/** Transactions that commit only while the turn's lease is held. */
export interface FencedWrites {
  /** Writes in one transaction, after all `later` writes. @throws LeaseLost */
  now<T>(write: Write<T>, options?: Pick<WriteOptions, 'usage'>): Promise<T>;
  /** Like `now`, and completes the job. `first` runs before the `later` writes. */
  last<T>(write: Write<T>, first?: Write<void>): Promise<T>;
  /**
   * Like `now`, for statements that are written with `sql`: they are sent together with the lease check. Stores the
   * progress.
   */
  together<T>(write: Write<T>, options?: TogetherOptions<T>): Promise<T>;
  /**
   * Like `now`, with one statement that checks the lease, and returns undefined without it. `later` writes keep
   * waiting.
   */
  single<T>(write: (tx: Transaction, job: LeasedJob) => Promise<T | undefined>): Promise<T>;
  /** Like `now`, but alone: `later` writes keep waiting. */
  alone<T>(write: Write<T>): Promise<T>;
  /**
   * Writes in the next transaction, or in its own one after a short time. Only for statements that are written with
   * `sql`. Nothing that depends on it may be acknowledged before.
   *
   * @param committed called after the commit, before the call that has written it returns
   */
  later<T>(write: LaterWrite<T>, committed: (result: T) => void, options?: WriteOptions): void;
  /** Writes an activity with the `later` writes, or alone if there are none. */
  activity(write: Write<unknown>, alone: () => Promise<unknown>): Promise<void>;
  flush(): Promise<void>;
  /** Stores the progress with `save`, or with the `later` writes. */
  saveProgress(save: () => Promise<void>): Promise<void>;
  track(progress: ProgressWrite): void;
}

interface Waiting extends WriteOptions {
  write: LaterWrite<unknown>;
  committed: (result: unknown) => void;
}

interface CommitOptions<T> extends TogetherOptions<T> {
  isPipelined: boolean;
  /** Set if the job is completed. */
  ends?: { first: Write<void> | undefined };
}

/** Long enough for events that usually follow, such as a model call after a result. */
const WAIT_MS = 30;

export interface FencedWritesDeps {
  withTransaction: WithTransaction;
  withStatement: WithTransaction;
  jobs: Pick<JobQueue, 'holds' | 'end'>;
  usageLock: RawBuilder<unknown>;
}

export function createFencedWrites(
  { withTransaction, withStatement, jobs, usageLock }: FencedWritesDeps,
  job: LeasedJob,
): FencedWrites {
  let waiting: readonly Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** Set if a waiting write was refused and no call waited for it. */
  let refusal: ReplyLimitExceeded | undefined;
  /** Writes run one after the other, so that none overtakes a waiting one. */
  let last: Promise<unknown> = Promise.resolve();
  let progress: ProgressWrite | undefined;

  async function mustHold(tx: Transaction, { ends = false, usage = false } = {}): Promise<void> {
    if (!(await jobs[ends ? 'end' : 'holds'](job, tx, usage ? usageLock : undefined))) throw new LeaseLost();
  }

  /** Waiting writes' statements come first. */
  async function send<T>(
    write: Write<T>,
    first: readonly Waiting[],
    { isPipelined, usage = false, journal = false, ends }: CommitOptions<T>,
    tx: Transaction,
  ) {
    const writeFirst = (sender: Transaction) => inTurn(first, ends !== undefined, sender);
    const followsUsage = first.some((one) => one.usage === true);
    const follows = (usage && followsUsage) || (journal && first.some((one) => one.journal === true));
    // Jobs come first in the lock order, and then usage.
    const hold = (sender: Transaction) => mustHold(sender, { ends: ends !== undefined, usage: usage || followsUsage });
    if (!isPipelined) {
      await hold(tx);
      await ends?.first?.(tx);
      const results = first.length === 0 ? [] : (await pipelined(tx, (sender) => [writeFirst(sender)]))[0];
      return { results, result: await write(tx) };
    }
    const [, results, result] = await pipelined(tx, (sender) => {
      const held = hold(sender);
      const written = writeFirst(sender);
      return [held, written, follows ? written.then(() => write(sender)) : write(sender)];
    });
    return { results, result };
  }

  async function commit<T>(write: Write<T>, options: CommitOptions<T>): Promise<T> {
    const { completes } = options;
    clearTimeout(timer);
    timer = undefined;
    const refused = refusal;
    refusal = undefined;
    if (refused !== undefined) throw refused;
    const first = waiting;
    const [activity] = [options, ...first.toReversed()].flatMap((one) => one.activity ?? []);
    const tracked = completes === undefined ? undefined : progress;
    try {
      const { result, results } = await withTransaction(async (tx) => {
        const sent = await send(write, first, options, tx);
        if (tracked !== undefined || activity !== undefined) {
          await pipelined(tx, (sender) => [
            tracked?.write(sender, completes?.(sent.result) ?? false) ?? Promise.resolve(),
            activity?.(sender) ?? Promise.resolve(),
          ]);
        }
        return sent;
      });
      tracked?.committed();
      waiting = waiting.slice(first.length);
      for (const [index, { committed }] of first.entries()) committed(results[index]);
      return result;
    } catch (error) {
      // The turn ends. All other errors leave the writes to the next call.
      if (error instanceof ReplyLimitExceeded) waiting = [];
      throw error;
    }
  }

  function inOrder<T>(write: () => Promise<T>): Promise<T> {
    const written = last.then(write);
    last = written.catch(() => undefined);
    return written;
  }

  const writeWaiting = (activity?: Write<unknown>): Promise<void> =>
    commit(() => Promise.resolve(), { isPipelined: true, completes: () => false, activity });

  /** The next call throws it. */
  function keepRefusal(error: unknown): void {
    if (!(error instanceof ReplyLimitExceeded)) throw error;
    refusal = error;
  }

  const flush = (): Promise<void> =>
    inOrder(async () => {
      if (waiting.length > 0 || refusal !== undefined) await writeWaiting();
    });

  return {
    now: (write, options) => inOrder(() => commit(write, { ...options, isPipelined: false })),
    last: (write, first) => inOrder(() => commit(write, { isPipelined: false, ends: { first } })),
    together: (write, options) =>
      inOrder(() => commit(write, { completes: () => true, ...options, isPipelined: true })),
    activity: (write, alone) =>
      inOrder(async () => {
        if (waiting.length > 0) await writeWaiting(write).catch(keepRefusal);
        else await alone();
      }),
    saveProgress: (save) => inOrder(() => (waiting.length > 0 ? writeWaiting() : save())),
    track: (tracked) => void (progress = tracked),
    async single(write) {
      const result = await withStatement((tx) => write(tx, job));
      if (result === undefined) throw new LeaseLost();
      return result;
    },
    alone: (write) =>
      withTransaction(async (tx) => {
        await mustHold(tx);
        return write(tx);
      }),
    later(write, committed, options) {
      // A running transaction has the previous list, and must not end these writes.
      waiting = [...waiting, { ...options, write, committed: committed as (result: unknown) => void }];
      timer ??= setTimeout(() => {
        flush()
          .catch(keepRefusal)
          .catch(() => undefined);
      }, WAIT_MS);
    },
    flush,
  };
}

async function inTurn(writes: readonly Waiting[], isLast: boolean, tx: Transaction): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const { write } of writes) results.push(await write(tx, isLast));
  return results;
}
