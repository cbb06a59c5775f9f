import type { StreamState } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../../database/database.js';
import { answersUser } from '../answers-user.js';

/** The beginning of a reply that an agent writes. Its runtime has sent more if it was not saved yet. */
export type TurnStream = StreamState & { workspace_id: string };

export type ReadStreams = typeof readStreams;

/** Reads the beginnings of the replies that agents of these workspaces write. */
export async function readStreams(workspaceIds: readonly string[], db: Database): Promise<TurnStream[]> {
  const { rows } = await sql<TurnStream>`
    SELECT t.workspace_id, t.reply_message_id AS message_id, t.conversation_id, t.agent_id, p.generation, p.chunk_seq, p.text
    FROM turns t JOIN turn_progress p ON p.turn_id = t.id AND p.generation = t.generation
    WHERE t.workspace_id = ANY (${[...workspaceIds]}::uuid[]) AND t.status = 'running' AND t.reply_message_id IS NOT NULL
      AND p.text <> '' AND ${answersUser('t.id')}
    ORDER BY t.id`.execute(db);
  return rows;
}
