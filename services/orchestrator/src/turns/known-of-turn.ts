import { sql } from 'kysely';
import type { InternalPhase } from '../platform/database/schema.js';
import { IS_SENT } from './receipts/receipts.store.js';
import { type Reader, READER } from '../records/users.store.js';

/** The runtime of the workspace of a turn. */
export interface RuntimeOfTurn {
  phase: InternalPhase;
  reason: string;
  address: string | null;
  identified_at: Date | null;
  wanted_at: Date;
}

/** The user of a turn, whether its conversation has a summary and receipts of sent calls, and whether its workspace has a budget. */
export interface KnownOfTurn {
  reader: Reader;
  summary: boolean;
  receipts: boolean;
  budget: boolean;
}

/** What is known of the turn `t`, its user `u` and its workspace `w`. */
export const KNOWN = sql<KnownOfTurn>`jsonb_build_object(
  'reader', ${READER},
  'summary', EXISTS (SELECT FROM conversation_summaries s WHERE s.conversation_id = t.conversation_id),
  'receipts', EXISTS (SELECT FROM receipts r WHERE r.conversation_id = t.conversation_id AND ${IS_SENT}),
  'budget', w.monthly_cost_micros IS NOT NULL OR w.monthly_tokens IS NOT NULL
)`;
