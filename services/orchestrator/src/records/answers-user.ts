import { type RawBuilder, sql } from 'kysely';

/** Whether a turn answers the user, and does not work on a task in the background. `turnId`: an expression with its id. */
export const answersUser = (turnId: string): RawBuilder<boolean> =>
  sql`NOT EXISTS (SELECT FROM turn_tasks task WHERE task.turn_id = ${sql.raw(turnId)})`;
