import { sql } from 'kysely';
import type { InternalPhase } from '../platform/database/schema.js';
import { IS_SENT } from './receipts/receipts.store.js';
import { type Reader, READER } from '../records/users.store.js';

export interface RuntimeOfTurn {
  phase: InternalPhase;
  reason: string;
  address: string | null;
  identified_at: Date | null;
  wanted_at: Date;
}

export interface KnownOfTurn {
  reader: Reader;
  summary: boolean;
  receipts: boolean;
  budget: boolean;
}

/** Requires the aliases `t` (turn), `u` (its user) and `w` (its workspace). */
export const KNOWN = sql<KnownOfTurn>`jsonb_build_object(
  'reader', ${READER},
  'summary', EXISTS (SELECT FROM conversation_summaries s WHERE s.conversation_id = t.conversation_id),
  'receipts', EXISTS (SELECT FROM receipts r WHERE r.conversation_id = t.conversation_id AND ${IS_SENT}),
  'budget', w.monthly_cost_micros IS NOT NULL OR w.monthly_tokens IS NOT NULL
)`;
