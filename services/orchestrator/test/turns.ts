import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { Database } from '../src/database/database.js';
import { TURN_JOB } from '../src/features/turns/turn-queue.js';
import { createTurnWriter, type TurnWriter } from '../src/features/turns/turn-writer.js';
import type { TurnRow } from '../src/features/turns/turns.store.js';
import { createStores, type Stores } from './stores.js';
import type { LeasedJob } from '../src/jobs/job-store.js';
import { first, type Home, startTestOrchestrator, type TestOrchestrator, type TestUser } from './test-orchestrator.js';
import { createWithTransaction } from '../src/database/transaction.js';

/** Longer than any test. */
export const LEASE_MS = 3_600_000;

/** Stands in for the worker that writes replies. */
export interface TurnTaker {
  stores: Stores;
  /** Leases the next turn that waits. @throws Error where there is none */
  claim(): Promise<LeasedJob>;
  turnOf(job: LeasedJob): Promise<TurnRow>;
  /** What writes the reply, with the turn as it is stored now. */
  writerOf(job: LeasedJob): Promise<TurnWriter>;
}

export function createTurnTaker(database: Database): TurnTaker {
  const stores = createStores(database);
  const turnOf = async (job: LeasedJob): Promise<TurnRow> => {
    const turn = await stores.turns.get(job.subjectId);
    if (turn === undefined) throw new Error('there is no turn');
    return turn;
  };
  return {
    stores,
    claim: async () => first(await stores.jobs.claim(TURN_JOB, 1, LEASE_MS)),
    turnOf,
    async writerOf(work) {
      const withTransaction = createWithTransaction(database);
      const limits = { reached: async () => undefined, reserve: async () => true };
      const deps = { ...stores, withTransaction, limits };
      return createTurnWriter(deps, await turnOf(work), work);
    },
  };
}

/** An orchestrator whose replies the tests write: before each, a new user, and no turn that waits. */
export interface TurnWorld {
  uswarm: TestOrchestrator;
  taker: TurnTaker;
  user: TestUser;
  home: Home;
}

/** To be called where tests are described; its fields are there once they run. */
export function useTurnWorld(): Readonly<TurnWorld> {
  const world = {} as TurnWorld;
  beforeAll(async () => {
    world.uswarm = await startTestOrchestrator();
    world.taker = createTurnTaker(world.uswarm.database);
  });
  beforeEach(async () => {
    await world.uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    world.user = await world.uswarm.user();
    world.home = await world.uswarm.home(world.user);
  });
  afterAll(() => world.uswarm?.close());
  return world;
}
