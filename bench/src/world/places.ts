import type { Place } from '../replay/script.js';
import { LONG_CONVERSATIONS } from '../settings.js';
import { withClient } from './seed.js';

/**
 * All conversations, long ones first. The others alternate between workspaces, so that consecutive messages rarely lock
 * the same one.
 */
export async function readPlaces(databaseUrl: string): Promise<Place[]> {
  const { rows } = await withClient(databaseUrl, (client) =>
    client.query<Place>(
      `
      SELECT substr(u.subject, 6)::int - 1 AS "user", u.id AS "userId", u.subject, w.id AS "workspaceId",
        c.id AS "conversationId", coalesce(c.agent_id, manager.id) AS "agentId"
      FROM conversations c
      JOIN workspaces w ON w.id = c.workspace_id
      JOIN users u ON u.id = w.owner_id
      JOIN agents manager ON manager.workspace_id = w.id AND manager.sort_order = 0
      ORDER BY substr(u.subject, 6)::int <= $1 AND c.type = 'swarm' DESC,
        row_number() OVER (PARTITION BY w.id ORDER BY c.type DESC, c.id), substr(u.subject, 6)::int`,
      [LONG_CONVERSATIONS],
    ),
  );
  return rows;
}
