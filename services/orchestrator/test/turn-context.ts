import type { Database } from '../src/platform/database/database.js';
import type { TurnContext } from '../src/turns/request/turn-contexts.store.js';

export const TURN_CONTEXT: TurnContext = {
  now: new Date(0).toISOString(),
  reader: { name: '', language: '', time_zone: '' },
  agentContext: {
    model: null,
    responseLength: 'auto',
    prompts: [],
    tools: [],
    requestedTools: [],
    askedTools: [],
    memories: [],
  },
  members: [],
  limits: null,
  summary: null,
  recentTurns: [],
};

export const insertTurnContext = (db: Database, turnId: string): Promise<unknown> =>
  db
    .insertInto('turn_contexts')
    .columns(['turn_id', 'agent_id', 'context'])
    .expression((query) =>
      query
        .selectFrom('turns')
        .select(({ val }) => ['id', 'agent_id', val(JSON.stringify(TURN_CONTEXT)).as('context')])
        .where('id', '=', turnId),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
