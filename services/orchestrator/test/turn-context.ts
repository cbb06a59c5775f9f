import type { TurnContext } from '../src/features/turns/turn-contexts.store.js';

/** What a turn of a test is started with. */
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
