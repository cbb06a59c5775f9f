import type { RawBuilder } from 'kysely';
import type { Transaction, WithTransaction } from '../platform/database/database.js';
import { pipelined } from '../platform/database/pipelined.js';
import type { JobQueue, LeasedJob } from '../platform/jobs/job-queue.js';
import type { SavedText, TurnProgress } from './reply/turn-progress.store.js';
import type { ProgressSource, SavedProgress } from './writer/turn-writes.js';
import { ReplyLimitExceeded } from './content/reply-limit.js';

/** Another replica holds the lease. Nothing may be written. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

/** One transaction's writes. Runs again if the transaction is repeated. */
export type Write<T> = (tx: Transaction) => Promise<T>;

/** Like `Write`. `isLast`: the transaction completes the job. */
export type LaterWrite<T> = (tx: Transaction, isLast: boolean) => Promise<T>;

interface OrderOptions {
  /** Stored last, because agents come last in the lock order. Only a transaction's latest activity is stored. */
  activity?: Write<unknown> | undefined;
  /** Set if it reads or writes usage: such writes are sent one after the other, and have the usage lock. */
  usage?: boolean;
  /** Set if it appends to the journal: such writes are sent one after the other. */
  journal?: boolean;
}

export type CommitOptions<T> =
  /** In one transaction, after all waiting writes. The default. */
  | { as?: 'now'; usage?: boolean }
  /** Like `now`, and completes the job. `first` runs before the waiting writes. */
  | { as: 'last'; first?: Write<void> | undefined }
  /**
   * Like `now`, for statements that are written with `sql`: they are sent together with the lease check. Stores the
   * progress. `completes`: true if the event that is being applied is then complete, which is the default.
   */
  | ({ as: 'together'; completes?: (result: T) => boolean } & OrderOptions)
  /** In its own transaction: waiting writes keep waiting. */
  | { as: 'alone' };

/** For one statement that checks the lease, and returns undefined without it. Waiting writes keep waiting. */
export interface StatementOptions {
  as: 'statement';
}

/**
 * In the next transaction, or in its own one after a short time. Only for statements that are written with `sql`.
 * Nothing that depends on it may be acknowledged before. `committed` is called after the commit, before the call that
 * has written it returns.
 */
export type LaterOptions<T> = { as: 'later'; committed: (result: T) => void } & OrderOptions;

/** Only if nothing waits. Otherwise the waiting writes are committed, with the activity. */
export interface UnlessWaitingOptions {
  as: 'unless others wait';
  activity?: Write<unknown>;
}

/** Commits while the turn's lease is held. */
export interface TurnCommits {
  /** @throws LeaseLost */
  commit<T>(write: (tx: Transaction) => Promise<T | undefined>, options: StatementOptions): Promise<T>;
  commit<T>(write: LaterWrite<T>, options: LaterOptions<T>): void;
  commit(write: () => Promise<unknown>, options: UnlessWaitingOptions): Promise<void>;
  commit<T>(write: Write<T>, options?: CommitOptions<T>): Promise<T>;
  flush(): Promise<void>;
  /** Sets the progress that is stored with each acknowledged write. */
  track(source: ProgressSource): void;
  /** Stores the progress alone, or with the waiting writes. */
  saveProgress(): Promise<void>;
}

export interface ProgressDeps {
  progress: Pick<TurnProgress, 'save' | 'saveText'>;
  textSaved?: (saved: SavedText) => void;
}

interface Waiting extends OrderOptions {
  write: LaterWrite<unknown>;
  committed: (result: unknown) => void;
}

interface TransactionOptions<T> extends OrderOptions {
  completes?: (result: T) => boolean;
  isPipelined: boolean;
  /** Set if the job is completed. */
  ends?: { first: Write<void> | undefined };
}

/** Long enough for events that usually follow, such as a model call after a result. */
const WAIT_MS = 30;

export interface TurnCommitsDeps extends ProgressDeps {
  withTransaction: WithTransaction;
  withStatement: WithTransaction;
  jobs: Pick<JobQueue, 'holds' | 'end'>;
  usageLock: RawBuilder<unknown>;
}

export function createTurnCommits(deps: TurnCommitsDeps, job: LeasedJob): TurnCommits {
  const { withTransaction, withStatement } = deps;
  const { mustHold, send } = createSender(deps, job);
  const progress = createTrackedProgress(deps, job);
  let waiting: readonly Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** Set if a waiting write was refused and no call waited for it. */
  let refusal: ReplyLimitExceeded | undefined;
  /** Writes run one after the other, so that none overtakes a waiting one. */
  let last: Promise<unknown> = Promise.resolve();

  async function transact<T>(write: Write<T>, options: TransactionOptions<T>): Promise<T> {
    const { completes } = options;
    clearTimeout(timer);
    timer = undefined;
    const refused = refusal;
    refusal = undefined;
    if (refused !== undefined) throw refused;
    const first = waiting;
    const [activity] = [options, ...first.toReversed()].flatMap((one) => one.activity ?? []);
    const tracked = completes === undefined ? undefined : progress.next();
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
    transact(() => Promise.resolve(), { isPipelined: true, completes: () => false, activity });

  /** The next call throws it. */
  function keepRefusal(error: unknown): void {
    if (!(error instanceof ReplyLimitExceeded)) throw error;
    refusal = error;
  }

  const flush = (): Promise<void> =>
    inOrder(async () => {
      if (waiting.length > 0 || refusal !== undefined) await writeWaiting();
    });

  function wait({ committed, ...options }: LaterOptions<never>, write: LaterWrite<unknown>): void {
    // A running transaction has the previous list, and must not end these writes.
    waiting = [...waiting, { ...options, write, committed: committed as (result: unknown) => void }];
    timer ??= setTimeout(() => {
      flush()
        .catch(keepRefusal)
        .catch(() => undefined);
    }, WAIT_MS);
  }

  async function unlessWaiting(write: () => Promise<unknown>, activity?: Write<unknown>): Promise<void> {
    if (waiting.length === 0) await write();
    else if (activity === undefined) await writeWaiting();
    else await writeWaiting(activity).catch(keepRefusal);
  }

  async function commitStatement<T>(write: (tx: Transaction) => Promise<T | undefined>): Promise<T> {
    const result = await withStatement(write);
    if (result === undefined) throw new LeaseLost();
    return result;
  }

  const commitAlone = <T>(write: Write<T>): Promise<T> =>
    withTransaction(async (tx) => {
      await mustHold(tx);
      return write(tx);
    });

  function commit(
    write: Write<unknown> & LaterWrite<unknown> & (() => Promise<unknown>),
    options: CommitOptions<unknown> | StatementOptions | LaterOptions<never> | UnlessWaitingOptions = {},
  ): unknown {
    switch (options.as) {
      case 'later':
        return wait(options, write);
      case 'alone':
        return commitAlone(write);
      case 'statement':
        return commitStatement(write);
      case 'unless others wait':
        return inOrder(() => unlessWaiting(write, options.activity));
      case 'last':
        return inOrder(() => transact(write, { isPipelined: false, ends: { first: options.first } }));
      case 'together':
        return inOrder(() => transact(write, { completes: () => true, ...options, isPipelined: true }));
      default:
        return inOrder(() => transact(write, { usage: options.usage ?? false, isPipelined: false }));
    }
  }

  return {
    commit: commit as TurnCommits['commit'],
    flush,
    track: progress.track,
    saveProgress: () => inOrder(() => unlessWaiting(progress.saveText)),
  };
}

/** Sends a transaction's statements after the lease check. */
function createSender({ jobs, usageLock }: Pick<TurnCommitsDeps, 'jobs' | 'usageLock'>, job: LeasedJob) {
  async function mustHold(tx: Transaction, { ends = false, usage = false } = {}): Promise<void> {
    if (!(await jobs[ends ? 'end' : 'holds'](job, tx, usage ? usageLock : undefined))) throw new LeaseLost();
  }

  /** Waiting writes' statements come first. */
  async function send<T>(
    write: Write<T>,
    first: readonly Waiting[],
    { isPipelined, usage = false, journal = false, ends }: TransactionOptions<T>,
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

  return { mustHold, send };
}

async function inTurn(writes: readonly Waiting[], isLast: boolean, tx: Transaction): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const { write } of writes) results.push(await write(tx, isLast));
  return results;
}

/** A reply's progress, as the turn's transactions store it. */
function createTrackedProgress({ progress, textSaved }: ProgressDeps, job: LeasedJob) {
  let tracked: { source: ProgressSource; written: SavedProgress | undefined } | undefined;
  return {
    track: (source: ProgressSource): void => void (tracked = { source, written: undefined }),

    /** Undefined while nothing is tracked. */
    next() {
      const one = tracked;
      if (one === undefined) return undefined;
      return {
        /** @param completes true for the last write of the event that is being applied */
        async write(tx: Transaction, completes: boolean): Promise<void> {
          one.written = one.source.current(completes);
          if (one.written !== undefined) await progress.save(job, one.written.progress, one.written.texts, tx);
        },
        committed(): void {
          if (one.written !== undefined) one.source.saved(one.written.version);
        },
      };
    },

    async saveText(): Promise<void> {
      const current = tracked?.source.current(false);
      if (current?.texts === undefined) return;
      const saved = await progress.saveText(job, current.progress, current.texts);
      if (saved === undefined) return;
      tracked?.source.saved(current.version);
      textSaved?.(saved);
    },
  };
}
