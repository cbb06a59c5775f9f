import type { Database } from '../src/platform/database/database.js';
import { createModelCallStore } from '../src/turns/model-calls/model-calls.store.js';
import { createBudgetStore } from '../src/metering/budget.store.js';
import { createBudgetWarningStore } from '../src/metering/budget-warning.js';
import { createReservationStore } from '../src/metering/reservations.store.js';
import { createUsageReportStore } from '../src/metering/usage-report.store.js';
import { createUsageStore } from '../src/metering/usage.store.js';
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
      createModelCallStore(db).reserve(
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
        db,
      ),
  },
  { name: 'the tokens of a turn', run: (db, { messageId }) => createReservationStore().tokensOf(messageId, db) },
  {
    name: 'the tokens that a turn can give to tasks',
    run: (db, { messageId }) => createReservationStore().unallotted(messageId, db),
  },
  {
    name: 'the grant of tokens',
    run: (db, { messageId }) => createReservationStore().grant(messageId, 1, db),
  },
  {
    name: 'the settlement of a reserved model call',
    run: (db, { messageId }) =>
      createReservationStore().settle(
        { usageTurnId: messageId, step: 1 },
        { promptTokens: 1, completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: false },
        db,
      ),
  },
  {
    name: 'the warning about a budget',
    run: (db, place) => createBudgetWarningStore().mark(place, PERIOD, db),
  },
  {
    name: 'the budget of a workspace',
    run: (db, { workspaceId, userId }) => createBudgetStore(db).find(workspaceId, userId, PERIOD),
  },
  {
    name: 'the report of usage',
    async run(db, { workspaceId, messageId }) {
      const reports = createUsageReportStore(db);
      const range = { workspaceId, ...RANGE };
      await reports.total(range);
      await reports.turnTotals(range, [messageId]);
      for (const by of ['agent', 'conversation', 'turn', 'model', 'day'] as const) {
        await reports.groups(range, by, { limit: 50 });
        await reports.groups(range, by, { after: messageId, limit: 50 });
      }
    },
  },
  {
    name: 'the usage and the running turns of a user',
    run: (db, { workspaceId }) => createUsageStore(db).ofRunning(workspaceId, PERIOD, db),
  },
  { name: 'the usage of a user', run: (db, { userId }) => createUsageStore(db).ofUser(userId, PERIOD) },
  {
    name: 'the usage of a workspace',
    run: (db, { workspaceId }) => createUsageStore(db).ofWorkspace(workspaceId, PERIOD),
  },
];
