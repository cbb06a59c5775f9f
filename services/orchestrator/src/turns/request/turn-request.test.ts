import { describe, expect, it } from '@jest/globals';
import { AgentRole, EntryKind, HistoryRole } from '@uswarm/runtime-proto';
import fc from 'fast-check';
import { z } from 'zod';
import { MAX_TURN_JOURNAL_BYTES } from '@uswarm/service-kit';
import { type JournalEntry, MAX_ENTRY_BYTES } from '../journal/journal.store.js';
import { definePlatformTool } from '../tools/platform-tool.js';
import type { SwarmMember } from '../../records/agents.store.js';
import type { AgentContext } from './agent-context.js';
import { HISTORY_MESSAGES } from './summary-need.js';
import { boundedHistory, turnRequest } from './turn-request.js';
import type { HistoryRow } from './history.store.js';
import type { TurnContext } from './turn-contexts.store.js';

const message = (text: string, id = 'm'): HistoryRow => ({ id, role: 'user', agent_id: null, text });

describe('the history sent with a turn', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), {
    minLength: 1,
    maxLength: HISTORY_MESSAGES + 20,
  });

  it('contains the newest messages, oldest first, and always the user message', () => {
    fc.assert(
      fc.property(texts, fc.nat({ max: 400 }), (newestFirst, maxBytes) => {
        const rows = newestFirst.map((text, index) => message(text, String(index)));
        const kept = boundedHistory(rows, maxBytes);
        expect(kept.toReversed()).toEqual(rows.slice(0, kept.length));
        expect(kept.length).toBeGreaterThanOrEqual(1);
        expect(kept.length).toBeLessThanOrEqual(HISTORY_MESSAGES);
      }),
    );
  });

  it('fits the limit unless one message exceeds it, and omits no message that fits', () => {
    const bytes = (rows: readonly HistoryRow[]) => rows.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    fc.assert(
      fc.property(texts, fc.nat({ max: 400 }), (newestFirst, maxBytes) => {
        const rows = newestFirst.map((text) => message(text));
        const kept = boundedHistory(rows, maxBytes);
        expect(kept.length === 1 || bytes(kept) <= maxBytes).toBe(true);
        const more = rows.slice(0, kept.length + 1);
        expect(more.length === kept.length || more.length > HISTORY_MESSAGES || bytes(more) > maxBytes).toBe(true);
      }),
    );
  });

  it('is bounded at 1,000 messages and 512 KiB', () => {
    const many = Array.from({ length: 1_100 }, () => message('x'));
    const large = Array.from({ length: 20 }, () => message('x'.repeat(64 * 1024)));
    expect(boundedHistory(many).length).toBe(1_000);
    expect(boundedHistory(large).length).toBe(8);
  });
});

const REMEMBER = definePlatformTool({
  name: 'remember',
  description: 'Saves a fact.',
  effect: 'own',
  switchedBy: 'memories',
  input: z.object({ key: z.string() }),
  describe: ({ key }) => key,
  prepare: () => async () => ({ text: '', failed: false }),
});
const STEP_SENT = { number: 1, kind: EntryKind.STEP, body: '{}' };

describe('the request of a turn', () => {
  const member = (id: string, kind: SwarmMember['kind']): SwarmMember => ({
    id,
    slug: `s-${id}`,
    name: id,
    kind,
    description: 'd',
    skills: ['news'],
  });
  const agentContext: AgentContext = {
    model: 'opus',
    responseLength: 'short',
    prompts: ['Be kind.', 'Be brief.'].map((content) => ({ id: content, name: 'n', description: '', content })),
    tools: ['web_search_tool'],
    requestedTools: [],
    askedTools: [],
    memories: [{ key: 'tea', content: 'green', category: 'core' }],
  };
  const context: TurnContext = {
    now: '2026-11-22T23:30:00.000Z',
    reader: { name: 'Ada', language: 'de', time_zone: 'Pacific/Auckland' },
    agentContext,
    members: [member('a', 'manager'), member('b', 'sub-agent'), member('c', 'sub-agent')],
    limits: null,
    summary: { text: 'They talked about tea.', throughSeq: 1 },
    recentTurns: [],
  };
  const input = {
    turn: { id: 't', agent_id: 'b', shown_entries: 0, task_depth: null },
    generation: 2,
    context,
    requestedTools: [],
    subjects: new Set<never>(),
    resolutions: [],
    history: [message('hi', '1'), { id: '2', role: 'agent', agent_id: 'a', text: 'hello' } satisfies HistoryRow],
    steering: [],
    files: new Map(),
    features: [],
    firstStep: 3,
    journal: [],
    recentCalls: [],
    fromEvent: 7,
    toolToken: 'token',
    modelToken: 'model-token',
  };

  it('contains the agent of the turn, and the others as colleagues', () => {
    const { agent, colleagues } = turnRequest(input);
    expect(agent?.id).toBe('b');
    expect(agent?.role).toEqual(AgentRole.SUB_AGENT);
    expect(colleagues.map(({ id, role }) => [id, role])).toEqual([
      ['a', AgentRole.MANAGER],
      ['c', AgentRole.SUB_AGENT],
    ]);
  });

  it('contains the generation and the position to continue from', () => {
    expect(turnRequest(input)).toMatchObject({
      turnId: 't',
      generation: 2,
      firstStep: 3,
      fromEvent: 7n,
    });
  });

  it('contains settings, tools and memories of the agent of the turn only', () => {
    const { agent, tools, memories, colleagues } = turnRequest(input);
    expect({ agent, tools, memories }).toMatchObject({
      agent: { model: 'opus', responseLength: 'short', prompts: ['Be kind.', 'Be brief.'] },
      tools: agentContext.tools,
      memories: agentContext.memories,
    });
    expect(colleagues.map(({ model, responseLength, prompts }) => [model, responseLength, prompts])).toEqual([
      ['', '', []],
      ['', '', []],
    ]);
  });

  it('leaves the model empty if the agent has none', () => {
    expect(
      turnRequest({ ...input, context: { ...context, agentContext: { ...agentContext, model: null } } }).agent?.model,
    ).toBe('');
  });

  it('contains the limits of the model if they are known', () => {
    const capabilities = {
      tools: true,
      parallel_tool_calls: true,
      images: true,
      documents: false,
      reasoning: false,
      caching: false,
    };
    const prices = { input: 1, cached_input: 1, output: 1 };
    const limits = { context_window: 8_192, max_output_tokens: 1_024, capabilities, prices };
    expect(turnRequest({ ...input, context: { ...context, limits } }).limits).toMatchObject({
      contextWindow: 8_192,
      maxOutputTokens: 1_024,
      images: true,
    });
    expect(turnRequest(input).limits).toBeUndefined();
  });

  it('contains the current time and the profile of the user', () => {
    expect(turnRequest(input).context).toMatchObject({
      nowMs: BigInt(Date.UTC(2026, 10, 22, 23, 30)),
      timeZone: 'Pacific/Auckland',
      language: 'de',
      userName: 'Ada',
    });
  });

  it('contains the summary of older messages', () => {
    expect(turnRequest(input).summary).toBe('They talked about tea.');
  });

  it('contains the calls that earlier turns sent after the summary, also without a summary', () => {
    const sentCalls = 'Recorded by the platform: a mail.';
    expect(turnRequest({ ...input, context: { ...context, sentCalls } }).summary).toBe(
      `They talked about tea.\n\n${sentCalls}`,
    );
    expect(turnRequest({ ...input, context: { ...context, summary: null, sentCalls } }).summary).toBe(sentCalls);
    expect(turnRequest({ ...input, context: { ...context, summary: null, sentCalls: '' } }).summary).toBe('');
  });

  it.each([['journal.1'], ['journal.1', 'tools.1']])(
    'tells a runtime with %s what earlier replies show',
    (...features) => {
      const turn = { ...input.turn, shown_entries: 2 };
      expect(turnRequest({ ...input, turn, features }).shownEntries).toBe(2);
    },
  );

  it.each([
    { features: ['journal.1', 'tools.1'], offered: ['remember'] },
    { features: ['journal.1'], offered: [] },
    { features: ['tools.1'], offered: [] },
  ])('offers tools of the orchestrator to a runtime with $features: $offered', ({ features, offered }) => {
    const { requestedTools } = turnRequest({ ...input, features, requestedTools: [REMEMBER] });
    expect(requestedTools.map(({ name }) => name)).toEqual(offered);
  });

  it('contains long prompts as skills for a runtime with skills', () => {
    const prompts = [{ id: 'p', name: 'Letters', description: '', content: 'x'.repeat(3_000) }];
    const counts = (features: string[]) => {
      const { agent } = turnRequest({
        ...input,
        features,
        context: { ...context, agentContext: { ...agentContext, prompts } },
      });
      return [agent?.prompts.length, agent?.skillDocuments.length];
    };
    expect([counts([]), counts(['skills.1'])]).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  const STEP: JournalEntry = { number: 1, kind: 'step', body: '{}' };
  const CALL = { tool: 'search', arguments: '{}', failed: false, sources: [] };

  it.each<[string, string[], object]>([
    ['no journal', [], { journaled: false, canWait: false, budgeted: false, journal: [], recentCalls: [] }],
    [
      'a journal',
      ['journal.1'],
      { journaled: true, canWait: true, budgeted: false, journal: [STEP_SENT], recentCalls: [] },
    ],
    ['a journal and budgets', ['journal.1', 'budget.1'], { journaled: true, budgeted: true }],
    [
      'a journal with large entries',
      ['journal.1', 'journal.2'],
      {
        journal: [STEP_SENT],
        recentCalls: [CALL],
        journalLimits: { entryBytes: MAX_ENTRY_BYTES, journalBytes: MAX_TURN_JOURNAL_BYTES },
      },
    ],
  ])('depends on what a runtime can do: %s', (_what, features, expected) => {
    const request = turnRequest({ ...input, features, journal: [STEP], recentCalls: [CALL] });
    expect(request).toMatchObject(expected);
  });

  it('has no journal that a runtime cannot read, and no tools with effects, which could run again', () => {
    const journal = Array.from({ length: 5 }, (_, n) => ({ ...STEP, number: n + 1, body: 'x'.repeat(500_000) }));
    const request = turnRequest({ ...input, features: ['journal.1', 'tools.1'], journal, requestedTools: [REMEMBER] });
    expect(request).toMatchObject({ journaled: false, journal: [], requestedTools: [] });
  });

  it('contains role and agent of each message', () => {
    expect(turnRequest(input).history.map(({ role, agentId, text }) => [role, agentId, text])).toEqual([
      [HistoryRole.USER, '', 'hi'],
      [HistoryRole.AGENT, 'a', 'hello'],
    ]);
  });

  it('fails if the agent of the turn does not exist', () => {
    expect(() =>
      turnRequest({ ...input, turn: { id: 't', agent_id: 'x', shown_entries: 0, task_depth: null } }),
    ).toThrow('does not exist');
  });
});
