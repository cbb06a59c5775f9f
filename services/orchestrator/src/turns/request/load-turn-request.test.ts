import { describe, expect, it } from '@jest/globals';
import { ABSENT_FEATURES } from '../../../test/absent-features.js';
import { NO_FILES } from '../../../test/no-files.js';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import { TURN_CONTEXT } from '../../../test/turn-context.js';
import { QUEUED } from '../../../test/turn-rows.js';
import type { SwarmMember } from '../../records/agents.store.js';
import type { TurnRow } from '../turns.store.js';
import { createTurnRequestLoader, NEW_REPLY } from './load-turn-request.js';
import type { TurnContext } from './turn-contexts.store.js';

const MEMBER: SwarmMember = { id: 'a', slug: 'a', name: 'A', kind: 'manager', description: '', skills: [] };
const FEATURES = ['journal.1', 'tool-grants.1'];

/** Loads the request of a turn. `context`: as another generation has stored it. */
function setUp({
  tools = ['search'],
  context,
  imported = false,
}: { tools?: string[]; context?: TurnContext; imported?: boolean } = {}) {
  let tokens = 0;
  const load = createTurnRequestLoader({
    ...ABSENT_FEATURES,
    ...NO_FILES,
    database: NO_TRANSACTION,
    turns: {
      loadHistory: async () => [{ id: 'question', role: 'user', agent_id: null, text: 'why?' }],
      loadSteering: async () => [],
      findNextStep: async () => 3,
    },
    journal: {
      listEntries: async () => [{ number: 1, kind: 'step', body: '{}', size: 2 }],
      findRecentTurns: async () => ({ turnIds: [], calls: [] }),
      listCalls: async () => [],
    },
    bodies: { read: async (entries) => entries.map(({ number, kind }) => ({ number, kind, body: '{}' })) },
    contexts: { findTurnContext: async () => context },
    users: { findReader: async () => ({ name: 'Ada', language: 'en', time_zone: 'UTC' }) },
    receipts: { ofConversation: async () => [] },
    loadAgentContext: async () => ({ ...TURN_CONTEXT.agentContext, members: [MEMBER], tools, untrusted: imported }),
    models: { limits: () => undefined, price: () => ({ modelId: null, prices: null }) },
    platformTools: [],
    serverTools: async () => [],
    toolTokens: async ({ workspaceId, agentId, turnId }, grant) =>
      `${grant === undefined ? 'list' : 'call'} token ${(tokens += 1)} of ${workspaceId} ${agentId} ${turnId}`,
    modelTokens: async ({ turnId, purpose }) => `model token of ${turnId} for a ${purpose}`,
    clock: { now: () => new Date(1_000) },
  });
  return (turn: Partial<TurnRow> = {}, { generation = 1, from = 0, features = FEATURES } = {}) =>
    load(
      { ...QUEUED, ...turn },
      { ...NEW_REPLY, generation, from },
      { features, signal: new AbortController().signal },
    );
}

describe('the request of a turn', () => {
  it('has tokens for the workspace, agent and turn, with which tools can be listed, and new ones each time', async () => {
    const load = setUp();
    const [first, again] = [await load(), await load()];
    expect(first.request).toMatchObject({
      toolToken: 'list token 1 of w a t',
      modelToken: 'model token of t for a turn',
    });
    expect(again.request.toolToken).toBe('list token 2 of w a t');
  });

  it('has no token for tools if the agent has none', async () => {
    const { request } = await setUp({ tools: [] })();
    expect(request).toMatchObject({ toolToken: '', modelToken: 'model token of t for a turn' });
  });

  it.each([
    ['announces its calls', FEATURES, []],
    ['cannot wait for tokens, so that the conversation counts as one with web pages', ['journal.1'], ['web']],
  ])('is sent to a runtime that %s', async (_what, features, untrusted) => {
    expect((await setUp()({}, { features })).untrusted).toEqual(untrusted);
  });

  it('counts as one with an attached file if the texts of the agent came in a file', async () => {
    expect((await setUp({ imported: true })()).untrusted).toEqual(['attachment']);
  });

  const STORED = { ...TURN_CONTEXT, members: [MEMBER], now: new Date(5_000).toISOString() };

  it('has the journal, and the context with which the turn began, in each generation', async () => {
    const load = setUp({ context: STORED });
    const { request } = await load({}, { generation: 2 });
    expect(request).toMatchObject({ firstStep: 3, context: { nowMs: 5_000n }, journal: [{ number: 1, body: '{}' }] });
    expect((await load()).request).toMatchObject({ firstStep: 1, context: { nowMs: 1_000n }, journal: [] });
  });

  it('has no journal for a runtime that has the turn, and none for one that cannot read it', async () => {
    const load = setUp({ context: STORED });
    const followed = await load({ runtime_instance: 'i' }, { from: 4 });
    expect(followed.request).toMatchObject({ fromEvent: 4n, journaled: true, journal: [] });
    const unread = await load({}, { generation: 2, features: [] });
    expect(unread.request).toMatchObject({ generation: 2, journaled: false, journal: [], context: { nowMs: 1_000n } });
  });
});
