import { type RawBuilder, sql } from 'kysely';

/** True if the turn answers the user instead of working on a background task. `turnId`: an expression with its id. */
export const answersUser = (turnId: string): RawBuilder<boolean> =>
  sql`NOT EXISTS (SELECT FROM turn_tasks task WHERE task.turn_id = ${sql.raw(turnId)})`;
