import type { PushService } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { IS_OPEN } from '../../records/approvals.store.js';
import { IS_UNREAD } from '../../records/unread.js';
import type { AnnouncedMessage } from './push-notification.js';
import { PUSH_JOB } from '../../records/push-jobs.js';
import type { PushAddress } from './push-sender.js';
import { dropPushToken } from '../devices/devices.store.js';

export interface DuePush extends AnnouncedMessage {
  userId: string;
  /** A device of the user has received the message, or the user has read it. */
  seen: boolean;
  /** The card no longer waits for a decision. */
  decided: boolean;
  muted: boolean;
  /** Milliseconds since the job was written. */
  ageMs: number;
}

export interface PushDevice extends PushAddress {
  deviceId: string;
  service: PushService;
}

/** A device still shows these notifications although the user has read or decided. */
export interface OutdatedNotifications extends PushDevice {
  userId: string;
  workspaceId: string;
  messageIds: string[];
}

/** Older notifications are no longer withdrawn. */
const SHOWN = sql`interval '7 days'`;

/** The message `m` in conversation `c` has been read. */
const IS_READ = sql`coalesce(m.shown_seq, m.seq) <= c.read_seq`;
/** The message `m` is a card that no longer waits. */
const IS_DECIDED = sql`m.content->>'type' = 'action_card' AND NOT EXISTS (
  SELECT FROM tool_approvals t WHERE t.card_message_id = m.id AND ${IS_OPEN})`;

const address: RawBuilder<unknown> = sql`
  d.device_id AS "deviceId", d.push_token AS token, d.push_service AS service, d.push_keys AS keys`;

/** @returns undefined if the message or its user does not exist */
export async function findDuePush(db: Database, messageId: string): Promise<DuePush | undefined> {
  // The job's ordinal is the event's sequence. A position above the last sequence belongs to another epoch.
  const { rows } = await sql<DuePush>`
    SELECT m.id, m.workspace_id AS "workspaceId", m.conversation_id AS "conversationId", m.content, m.status,
      a.name AS "agentName", w.owner_id AS "userId", c.muted,
      EXISTS (
        SELECT 1 FROM device_positions p
        WHERE p.user_id = w.owner_id AND p.workspace_id = w.id AND p.seq BETWEEN j.ordinal AND w.last_seq
      ) OR ${IS_READ} AS seen,
      ${IS_DECIDED} AS decided,
      (extract(epoch FROM now() - j.created_at) * 1000)::bigint AS "ageMs"
    FROM work j
    JOIN messages m ON m.id = j.subject_id
    JOIN conversations c ON c.id = m.conversation_id
    JOIN workspaces w ON w.id = m.workspace_id
    LEFT JOIN agents a ON a.id = m.agent_id
    WHERE j.kind = ${PUSH_JOB} AND j.subject_id = ${messageId}`.execute(db);
  return rows[0];
}

/** The user's devices that have not received the notification. */
export async function listPushDevices(db: Database, userId: string, messageId: string): Promise<PushDevice[]> {
  const { rows } = await sql<PushDevice>`
    SELECT ${address} FROM devices d
    WHERE user_id = ${userId} AND push_token IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM push_deliveries p WHERE p.message_id = ${messageId} AND p.device_id = d.device_id
    )
    ORDER BY device_id`.execute(db);
  return rows;
}

/** Counts the user's messages that are unread or wait for a decision. */
export async function countBadge(db: Database, userId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) FROM workspaces w JOIN conversations c ON c.workspace_id = w.id
    CROSS JOIN LATERAL (
      SELECT m.id FROM messages m WHERE ${IS_UNREAD}
      UNION
      SELECT t.card_message_id FROM tool_approvals t WHERE t.conversation_id = c.id AND ${IS_OPEN}
    ) waiting
    WHERE w.owner_id = ${userId}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Records that the devices show the message's notification. */
export function addDelivered(
  db: Database,
  { id, workspaceId, userId }: DuePush,
  deviceIds: readonly string[],
): Promise<void> {
  return createWithTransaction(db)(async (tx) => {
    if (deviceIds.length === 0) return;
    // A read position that moves during the lock either sees these rows, or is seen by the caller.
    await sql`SELECT 1 FROM workspaces WHERE id = ${workspaceId} FOR SHARE`.execute(tx);
    await sql`
      INSERT INTO push_deliveries (message_id, user_id, device_id)
      SELECT m.id, d.user_id, d.device_id FROM messages m, devices d
      WHERE m.id = ${id} AND d.user_id = ${userId} AND d.device_id = ANY(${[...deviceIds]}::text[])
      ORDER BY d.device_id ON CONFLICT DO NOTHING`.execute(tx);
    await sql`DELETE FROM push_deliveries WHERE user_id = ${userId} AND at < now() - ${SHOWN}`.execute(tx);
  });
}

export async function findOutdatedNotifications(
  db: Database,
  conversationId: string,
): Promise<OutdatedNotifications[]> {
  const { rows } = await sql<OutdatedNotifications>`
    SELECT ${address}, p.user_id AS "userId", c.workspace_id AS "workspaceId", array_agg(p.message_id ORDER BY p.message_id) AS "messageIds"
    FROM conversations c
    JOIN workspaces w ON w.id = c.workspace_id
    JOIN devices d ON d.user_id = w.owner_id AND d.push_token IS NOT NULL
    JOIN push_deliveries p ON p.user_id = d.user_id AND p.device_id = d.device_id
    JOIN messages m ON m.id = p.message_id AND m.conversation_id = c.id
    WHERE c.id = ${conversationId}
      AND CASE WHEN m.content->>'type' = 'action_card' THEN ${IS_DECIDED} ELSE ${IS_READ} END
    GROUP BY d.user_id, d.device_id, p.user_id, c.workspace_id ORDER BY d.device_id`.execute(db);
  return rows;
}

/** Records that the device no longer shows the notifications. */
export async function removeDelivered(
  db: Database,
  { userId, deviceId, messageIds }: OutdatedNotifications,
): Promise<void> {
  await db
    .deleteFrom('push_deliveries')
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .where('message_id', 'in', messageIds)
    .execute();
}

/** Keeps the token if the device has got another one in the meantime. */
export function dropToken(db: Database, userId: string, device: Pick<PushDevice, 'deviceId' | 'token'>): Promise<void> {
  return dropPushToken(db, userId, device);
}
