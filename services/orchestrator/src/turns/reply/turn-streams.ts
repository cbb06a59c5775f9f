import type { StreamState } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { answerFields, inReplyTo } from '../../records/answers.js';
import { answersUser } from '../../records/answers-user.js';

/** The saved text. The runtime may have sent more. */
export type TurnStream = StreamState & { workspace_id: string };

export type ReadStreams = typeof readStreams;

export interface RunningReplies {
  streams: TurnStream[];
  /** Includes turns whose text was not saved yet. */
  turnIds: string[];
}

interface Row extends Omit<TurnStream, 'turn_id' | 'in_reply_to'> {
  own_id: string;
  turn_id: string;
  in_reply_to: string | null;
}

export async function readStreams(workspaceIds: readonly string[], db: Database): Promise<RunningReplies> {
  const { rows } = await sql<Row>`
    SELECT t.id AS own_id, coalesce(t.first_turn_id, t.id) AS turn_id, ${inReplyTo('t')} AS in_reply_to, t.workspace_id, t.reply_message_id AS message_id, t.conversation_id, t.agent_id, t.generation,
      coalesce(p.chunk_seq, 0) AS chunk_seq, coalesce(p.text, '') AS text
    FROM turns t LEFT JOIN turn_progress p ON p.turn_id = t.id AND p.generation = t.generation
    WHERE t.workspace_id = ANY (${[...workspaceIds]}::uuid[]) AND t.status = 'running' AND t.reply_message_id IS NOT NULL
      AND ${answersUser('t.id')}
    ORDER BY t.id`.execute(db);
  return {
    streams: rows.flatMap(({ own_id: _, turn_id, in_reply_to, ...stream }) =>
      stream.text === '' ? [] : [{ ...stream, ...answerFields(turn_id, in_reply_to) }],
    ),
    turnIds: rows.map((row) => row.own_id),
  };
}
