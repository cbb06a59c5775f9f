import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { Database } from '../src/platform/database/database.js';
import { TURN_JOB } from '../src/records/turn-job.js';
import { createTurnWriter } from '../src/turns/writer/turn-writer.js';
import type { TurnWriterDeps } from '../src/turns/writer/writing.js';
import type { TurnWriter } from '../src/turns/writer/turn-writes.js';
import { type TurnRow, getTurn } from '../src/turns/turns.store.js';
import { createStores, type Stores, tasksOf } from './stores.js';
import type { LeasedJob } from '../src/platform/jobs/job-queue.js';
import { first, type Home, startTestOrchestrator, type TestOrchestrator, type TestUser } from './test-orchestrator.js';
import { createWithStatement, createWithTransaction } from '../src/platform/database/transaction.js';

/** Longer than any test. */
export const LEASE_MS = 3_600_000;

/** Leases turns and writes replies in place of the turn worker. */
export interface TestTurnWorker {
  stores: Stores;
  /** Leases the next queued turn. @throws Error if no turn is queued */
  claim(): Promise<LeasedJob>;
  turnOf(job: LeasedJob): Promise<TurnRow>;
  /** Returns a writer for the reply, with the turn's current row. */
  writerOf(job: LeasedJob, deps?: Partial<TurnWriterDeps>): Promise<TurnWriter>;
}

export function createTestTurnWorker(database: Database): TestTurnWorker {
  const stores = createStores(database);
  const turnOf = async (job: LeasedJob): Promise<TurnRow> => {
    const turn = await getTurn(stores.database, job.subjectId);
    if (turn === undefined) throw new Error('the turn does not exist');
    return turn;
  };
  return {
    stores,
    claim: async () => first(await stores.jobs.claim(TURN_JOB, 1, LEASE_MS)),
    turnOf,
    async writerOf(work, overrides) {
      const withTransaction = createWithTransaction(database);
      const budget = { tokens: null };
      const limits = { reached: async () => undefined, reserve: async () => budget, turnBudget: async () => budget };
      const withStatement = createWithStatement(database);
      const deps = { ...stores, ...tasksOf(stores), withTransaction, withStatement, limits, ...overrides };
      return createTurnWriter(deps, await turnOf(work), work);
    },
  };
}

/** An orchestrator without turn workers: tests write the replies. Each test has a new user and an empty queue. */
export interface TurnFixture {
  uswarm: TestOrchestrator;
  turnWorker: TestTurnWorker;
  user: TestUser;
  home: Home;
}

/** Call it within `describe`. The fields are set when the tests run. */
export function useTurnFixture(environment: Record<string, string> = {}): Readonly<TurnFixture> {
  const world = {} as TurnFixture;
  beforeAll(async () => {
    world.uswarm = await startTestOrchestrator({ environment });
    world.turnWorker = createTestTurnWorker(world.uswarm.database);
  });
  beforeEach(async () => {
    await world.uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    world.user = await world.uswarm.user();
    world.home = await world.uswarm.home(world.user);
  });
  afterAll(() => world.uswarm?.close());
  return world;
}
