import { randomUUID } from 'node:crypto';
import { queryLocalDatabase } from '@uswarm/testkit/local-database';
import type { WorldHistory } from '../tasks/task.js';

interface PastMessage {
  id: string;
  role: 'user' | 'agent';
  text: string;
}

/** Short, and without a fact that a task could ask for. */
const TALK = [
  ['Good morning!', 'Good morning! What can I do for you?'],
  ['Nothing right now.', 'All right.'],
  ['Is everything fine?', 'Yes, everything is fine.'],
  ['Thanks!', 'You are welcome.'],
] as const;

const message = (role: PastMessage['role'], text: string): PastMessage => ({ id: randomUUID(), role, text });

function messagesOf({ user, agent, small_talk: talk }: WorldHistory): PastMessage[] {
  if (user !== undefined) return [message('user', user), message('agent', agent)];
  return Array.from({ length: talk ?? 0 }, (_, index) => {
    const [said, answered] = TALK[index % TALK.length] as (typeof TALK)[number];
    return [message('user', said), message('agent', answered)];
  }).flat();
}

/** A message a minute, and the last one an hour ago. */
const INSERT = `
  WITH place AS (
    UPDATE workspaces SET last_seq = last_seq + $3::int WHERE id = $1 RETURNING id, owner_id, last_seq - $3::int AS seq
  )
  INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status, sender_id, agent_id, created_at)
  SELECT past.id, place.id, $2, place.seq + n, past.role, jsonb_build_object('type', 'text', 'text', past.text), 'delivered',
    CASE past.role WHEN 'user' THEN place.owner_id END, CASE past.role WHEN 'agent' THEN manager.id END,
    now() - make_interval(mins => 60 + $3::int - n::int)
  FROM place JOIN agents manager ON manager.workspace_id = place.id AND manager.kind = 'manager',
    jsonb_to_recordset($4::jsonb) AS past (id uuid, role text, text text, n int)`;

/**
 * Writes earlier messages into a conversation. Sending them would take a turn each.
 *
 * @param folder local mode's data folder
 * @returns their ids
 */
export async function insertHistory(
  folder: string,
  { workspaceId, conversationId }: { workspaceId: string; conversationId: string },
  history: readonly WorldHistory[],
): Promise<string[]> {
  const messages = history.flatMap(messagesOf).map((past, index) => ({ ...past, n: index + 1 }));
  await queryLocalDatabase(folder, INSERT, [workspaceId, conversationId, messages.length, JSON.stringify(messages)]);
  return messages.map(({ id }) => id);
}
