import { untilBlocked as untilBlockedIn } from '@uswarm/testkit/lock-waits';
import { sql } from 'kysely';
import type { Database } from '../src/platform/database/database.js';

export const untilBlocked = (database: Database): Promise<void> =>
  untilBlockedIn(async (text) => (await sql.raw<{ query: string }>(text).execute(database)).rows);
