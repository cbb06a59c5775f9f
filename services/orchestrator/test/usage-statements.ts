import type { Database } from '../src/platform/database/database.js';
import { reserveModelCall } from '../src/turns/model-calls/model-calls.store.js';
import { findBudget } from '../src/metering/budget.store.js';
import { markBudgetWarning } from '../src/metering/budget-warning.js';
import { findTurnTokens, findUnallotted, grantBudget, settleReservation } from '../src/metering/reservations.store.js';
import { sumUsage, sumUsageOfTurns, groupUsage } from '../src/metering/usage-report.store.js';
import { findUsageOfRunning, findUsageOfUser, findUsageOfWorkspace } from '../src/metering/usage.store.js';
import { CHARGED_CALL } from './charged-call.js';

interface Place {
  userId: string;
  workspaceId: string;
  agentId: string;
  conversationId: string;
  messageId: string;
}

const PERIOD = '2026-03';
const RANGE = { from: new Date(`${PERIOD}-01`), until: new Date('2026-04-01') };

export const USAGE_STATEMENTS: readonly { name: string; run: (db: Database, place: Place) => Promise<unknown> }[] = [
  {
    name: 'the reservation of a model call',
    run: (db, { userId, workspaceId, agentId, messageId }) =>
      reserveModelCall(
        db,
        {
          id: messageId,
          workspace_id: workspaceId,
          turn_id: messageId,
          agent_id: agentId,
          purpose: 'turn',
          provider: 'p',
          model: 'm',
          requested_model: 'm',
          estimated_prompt_tokens: 1,
          max_output_tokens: 1,
          ...CHARGED_CALL,
          userId,
          usageTurnId: messageId,
        },
        {
          period: PERIOD,
          user: 1,
          workspace: 1,
          budget: { monthly_cost_micros: 1, monthly_tokens: 1 },
          resetsAt: '',
        },
      ),
  },
  { name: 'the tokens of a turn', run: (db, { messageId }) => findTurnTokens(db, messageId) },
  {
    name: 'the tokens that a turn can give to tasks',
    run: (db, { messageId }) => findUnallotted(db, messageId),
  },
  {
    name: 'the grant of tokens',
    run: (db, { messageId }) => grantBudget(db, messageId, 1),
  },
  {
    name: 'the settlement of a reserved model call',
    run: (db, { messageId }) =>
      settleReservation(
        db,
        { usageTurnId: messageId, step: 1 },
        { promptTokens: 1, completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: false },
      ),
  },
  {
    name: 'the warning about a budget',
    run: (db, place) => markBudgetWarning(db, place, PERIOD),
  },
  {
    name: 'the budget of a workspace',
    run: (db, { workspaceId, userId }) => findBudget(db, workspaceId, userId, PERIOD),
  },
  {
    name: 'the report of usage',
    async run(db, { workspaceId, messageId }) {
      const range = { workspaceId, ...RANGE };
      await sumUsage(db, range);
      await sumUsageOfTurns(db, range, [messageId]);
      for (const by of ['agent', 'conversation', 'turn', 'model', 'day'] as const) {
        await groupUsage(db, range, by, { limit: 50 });
        await groupUsage(db, range, by, { after: messageId, limit: 50 });
      }
    },
  },
  {
    name: 'the usage and the running turns of a user',
    run: (db, { workspaceId }) => findUsageOfRunning(db, workspaceId, PERIOD),
  },
  { name: 'the usage of a user', run: (db, { userId }) => findUsageOfUser(db, userId, PERIOD) },
  {
    name: 'the usage of a workspace',
    run: (db, { workspaceId }) => findUsageOfWorkspace(db, workspaceId, PERIOD),
  },
];
