import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { AnnouncedMessage } from './push-notification.js';
import { PUSH_JOB } from './push-jobs.js';

/** A message to announce. */
export interface DuePush extends AnnouncedMessage {
  userId: string;
  /** A device of the user has received the message. */
  seen: boolean;
  /** The card no longer waits for a decision. */
  decided: boolean;
  /** Milliseconds since the job was written. */
  ageMs: number;
}

/** A device that can receive notifications. */
export interface PushDevice {
  deviceId: string;
  token: string;
}

export interface PushStore {
  /** @returns undefined if the message or its user does not exist */
  find(messageId: string): Promise<DuePush | undefined>;
  /** The devices of the user that have not received the notification. */
  devices(userId: string, messageId: string): Promise<PushDevice[]>;
  /** Notes which devices have received the notification, while others have not. */
  addDelivered(messageId: string, userId: string, deviceIds: readonly string[]): Promise<void>;
  /** Forgets these devices when the job ends. */
  clearDelivered(messageId: string): Promise<void>;
  /** Removes the token of a device unless it has another one. */
  dropToken(userId: string, device: PushDevice): Promise<void>;
}

export function createPushStore(database: Database): PushStore {
  return {
    async find(messageId) {
      // The ordinal of the job is the sequence of the event. A position above the last sequence belongs to another epoch.
      const { rows } = await sql<DuePush>`
        SELECT m.id, m.workspace_id AS "workspaceId", m.conversation_id AS "conversationId", m.content, m.status,
          a.name AS "agentName", w.owner_id AS "userId",
          EXISTS (
            SELECT 1 FROM device_positions p
            WHERE p.user_id = w.owner_id AND p.workspace_id = w.id AND p.seq BETWEEN j.ordinal AND w.last_seq
          ) AS seen,
          m.content->>'type' = 'action_card' AND NOT EXISTS (
            SELECT 1 FROM tool_approvals t
            WHERE t.card_message_id = m.id AND t.status = 'open' AND t.expires_at > now()
          ) AS decided,
          (extract(epoch FROM now() - j.created_at) * 1000)::bigint AS "ageMs"
        FROM work j
        JOIN messages m ON m.id = j.subject_id
        JOIN workspaces w ON w.id = m.workspace_id
        LEFT JOIN agents a ON a.id = m.agent_id
        WHERE j.kind = ${PUSH_JOB} AND j.subject_id = ${messageId}`.execute(database);
      return rows[0];
    },

    async devices(userId, messageId) {
      const { rows } = await sql<PushDevice>`
        SELECT device_id AS "deviceId", push_token AS token FROM devices d
        WHERE user_id = ${userId} AND push_token IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM push_deliveries p WHERE p.message_id = ${messageId} AND p.device_id = d.device_id
        )
        ORDER BY device_id`.execute(database);
      return rows;
    },

    async addDelivered(messageId, userId, deviceIds) {
      if (deviceIds.length === 0) return;
      await sql`
        INSERT INTO push_deliveries (message_id, user_id, device_id)
        SELECT m.id, d.user_id, d.device_id FROM messages m, devices d
        WHERE m.id = ${messageId} AND d.user_id = ${userId} AND d.device_id = ANY(${[...deviceIds]}::text[])
        ORDER BY d.device_id ON CONFLICT DO NOTHING`.execute(database);
    },

    async clearDelivered(messageId) {
      await database.deleteFrom('push_deliveries').where('message_id', '=', messageId).execute();
    },

    async dropToken(userId, { deviceId, token }) {
      await database
        .updateTable('devices')
        .set({ push_token: null, push_token_hash: null })
        .where('user_id', '=', userId)
        .where('device_id', '=', deviceId)
        .where('push_token', '=', token)
        .execute();
    },
  };
}
