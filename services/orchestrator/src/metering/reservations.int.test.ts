import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '@uswarm/service-kit';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { insertMessages, insertTurns, insertWorkspaces } from '../../test/bulk-data.js';
import { sql } from 'kysely';
import { createPlans } from './plans.js';
import { createUsageLimits, estimatedCall, turnTokens } from './usage-limits.js';
import { lockReservations } from './reservations.store.js';

const LIMIT = 100_000;
const TURNS = 10;
const CALL = 900;

describe('the reserved tokens of running turns', () => {
  let db: MigratedDatabase;
  let workspaceId: string;
  let ownerId: string;
  let limits: ReturnType<typeof createUsageLimits>;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    [workspaceId] = (await insertWorkspaces(db.database, 1)) as [string];
    const { rows } = await sql<{ owner_id: string }>`SELECT owner_id FROM workspaces`.execute(db.database);
    ownerId = rows[0]?.owner_id ?? '';
    await insertMessages(db.database, TURNS);
    await insertTurns(db.database);
    const plan = { code: 'free', name: 'Free', token_limit: LIMIT, workspace_token_limit: LIMIT };
    limits = createUsageLimits({
      database: db.database,
      plans: createPlans([plan]),
      clock: systemClock,
    });
  });
  afterAll(() => db.close());

  const use = (tokens: number) =>
    sql`INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, prompt_tokens, completion_tokens)
      SELECT gen_random_uuid(), 1, owner_id, id, 'p', 'm', ${tokens}, 0 FROM workspaces WHERE id = ${workspaceId}`.execute(
      db.database,
    );
  /** Begins a turn as a worker does: reservation and begin in one transaction. */
  const begin = (id: string) =>
    db.withTransaction(async (tx) => {
      await lockReservations(tx, ownerId);
      if ((await limits.reached(workspaceId, tx)) !== undefined) return 'refused';
      if (!(await limits.reserve(workspaceId, tx))) return 'waits';
      await sql`UPDATE turns SET status = 'running' WHERE id = ${id}`.execute(tx);
      return 'begun';
    });

  it('keep ten parallel turns within the limit and one model call, with 1,000 tokens left', async () => {
    await use(LIMIT - 1_000);
    await sql`UPDATE turns SET status = 'queued'`.execute(db.database);
    let waiting = (await sql<{ id: string }>`SELECT id FROM turns ORDER BY id`.execute(db.database)).rows.map(
      ({ id }) => id,
    );
    expect(waiting).toHaveLength(TURNS);
    let used = LIMIT - 1_000;
    for (let round = 0; waiting.length > 0; round += 1) {
      const outcomes = await Promise.all(waiting.map(begin));
      const begun = waiting.filter((_, n) => outcomes[n] === 'begun');
      expect(begun.length).toBeLessThanOrEqual(1);
      // Each turn reports one model call.
      for (const id of begun) {
        await use(CALL);
        used += CALL;
        await sql`UPDATE turns SET status = 'done' WHERE id = ${id}`.execute(db.database);
      }
      waiting = waiting.filter((_, n) => outcomes[n] === 'waits');
      expect(round).toBeLessThan(TURNS);
    }
    expect(used).toBeGreaterThanOrEqual(LIMIT);
    expect(used).toBeLessThanOrEqual(LIMIT + CALL);
  });

  it('are limited per turn: by the plan, or to a fifth of the limit of a workspace and at most a million', () => {
    expect(turnTokens({ workspace_token_limit: 1_000_000, turn_token_limit: 7 })).toBe(7);
    expect(turnTokens({ workspace_token_limit: 1_000_001 })).toBe(200_001);
    expect(turnTokens({ workspace_token_limit: 10_000_000 })).toBe(1_000_000);
  });

  it('are 2,000 per turn, or the average of a model call if it is higher', () => {
    const used = { prompt_tokens: 0, completion_tokens: 0, requests: 0 };
    expect(estimatedCall(used)).toBe(2_000);
    expect(estimatedCall({ prompt_tokens: 9_000, completion_tokens: 1_000, requests: 2 })).toBe(5_000);
  });
});
