import { sql } from 'kysely';
import { z } from 'zod';
import type { Database } from '../../src/platform/database/database.js';
import { callHash } from '../../src/records/approval-card.js';
import {
  defineExternalTool,
  definePlatformTool,
  type Effect,
  type PlatformTool,
  type ToolCall,
  UncertainOutcome,
} from '../../src/turns/tools/platform-tool.js';
import type { Delivery, RequestedTool, Schedule } from './schedule.js';
import type { SimulatedProcess } from './simulated-process.js';

export const EFFECTS: Record<RequestedTool, Effect> = { save: 'own', create: 'keyed', send: 'once' };

/** Records requests to the other system, and their effects. */
export interface OtherSystem {
  deliveries: Delivery[];
  finds: boolean;
  /** All keys that requests had, by call. */
  keys: Map<string, Set<string>>;
  requests: Map<string, number>;
  /** Number of effects, by call. */
  executions: Map<string, number>;
  executedKeys: Set<string>;
  /** Rules that a call broke when it left. */
  violations: string[];
}

export const createOtherSystem = ({ deliveries, finds }: Pick<Schedule, 'deliveries' | 'finds'>): OtherSystem => ({
  deliveries: [...deliveries],
  finds,
  keys: new Map(),
  requests: new Map(),
  executions: new Map(),
  executedKeys: new Set(),
  violations: [],
});

const count = (counts: Map<string, number>, id: string): void => void counts.set(id, (counts.get(id) ?? 0) + 1);

/** Stores calls whose effect is in the database. Without a unique key, so that a second effect is seen. */
export const createEffectsTable = (database: Database) =>
  sql`CREATE TABLE simulated_effects (call_id text NOT NULL)`.execute(database);

interface Leaving {
  call: ToolCall;
  tool: RequestedTool;
  input: object;
}

/** Checks rules that must hold when a call takes effect. Reads them on another connection than the turn. */
async function brokenRules({ call, tool, input }: Leaving, asks: boolean, key: string | undefined, db: Database) {
  const broken: string[] = [];
  if (key !== undefined) {
    const { rows } = await sql<{ status: string; key: string }>`
      SELECT status, key FROM receipts WHERE call_id = ${call.id} AND workspace_id = ${call.workspaceId}`.execute(db);
    if (rows.length !== 1 || rows[0]?.key !== key) broken.push(`${call.id} left before it was stored as sent`);
  }
  if (!asks) return broken;
  const { rows } = await sql<{ hash: Buffer; inTime: boolean; afterCard: boolean; choice: string }>`
    SELECT a.arguments_hash AS hash, a.decided_at < a.expires_at AS "inTime", a.decided_at > a.created_at AS "afterCard",
      m.content ->> 'selected_action_id' AS choice
    FROM tool_approvals a JOIN messages m ON m.id = a.card_message_id
    WHERE a.call_id = ${call.id} AND m.workspace_id = ${call.workspaceId} AND a.status = 'approved'`.execute(db);
  const [approval] = rows;
  if (approval === undefined) broken.push(`${call.id} left without an approval`);
  else if (!approval.inTime || !approval.afterCard || approval.choice !== 'approve')
    broken.push(
      `${call.id} left with an approval that was expired, earlier than its card, or not a choice of the user`,
    );
  else if (!approval.hash.equals(callHash(tool, input))) broken.push(`${call.id} left with other arguments`);
  return broken;
}

export function createSimulatedTools(
  process: SimulatedProcess,
  other: OtherSystem,
  { asks }: Pick<Schedule, 'asks'>,
  database: Database,
): PlatformTool[] {
  const input = z.object({ what: z.string() });
  const common = { description: '', switchedBy: 'simulated', input };
  const describe = ({ what }: { what: string }) => `Doing ${what}`;
  let plans = 0;

  const save = definePlatformTool({
    ...common,
    name: 'save',
    effect: 'own',
    describe,
    prepare: (value, call) => async (tx) => {
      await sql`INSERT INTO simulated_effects VALUES (${call.id})`.execute(tx);
      other.violations.push(...(await brokenRules({ call, tool: 'save', input: value }, asks, undefined, tx)));
      return { text: 'done', failed: false };
    },
  });

  async function request(leaving: Leaving, key: string) {
    const { call, tool } = leaving;
    await process.point('provider');
    other.violations.push(...(await brokenRules(leaving, asks, key, database)));
    count(other.requests, call.id);
    other.keys.set(call.id, (other.keys.get(call.id) ?? new Set()).add(key));
    const delivery = other.deliveries.shift() ?? 'executed';
    if (delivery === 'refused') return { text: 'refused', failed: true };
    if (delivery === 'request lost') throw new UncertainOutcome();
    if (EFFECTS[tool] === 'once' || !other.executedKeys.has(key)) count(other.executions, call.id);
    other.executedKeys.add(key);
    await process.point('provider');
    if (delivery === 'answer lost') throw new UncertainOutcome();
    return { text: 'done', failed: false };
  }

  const external = (name: 'create' | 'send', effect: 'keyed' | 'once') =>
    defineExternalTool({
      ...common,
      name,
      effect,
      describe,
      async plan(_value, call) {
        await process.point('provider');
        return { key: `${call.id} ${(plans += 1)} ${crypto.randomUUID()}` };
      },
      send: (value, key, call) => request({ call, tool: name, input: value }, key),
      async lookUp(_value, key) {
        await process.point('provider');
        return other.finds && other.executedKeys.has(key) ? { text: 'done', failed: false } : undefined;
      },
    });

  return [save, external('create', 'keyed'), external('send', 'once')];
}
