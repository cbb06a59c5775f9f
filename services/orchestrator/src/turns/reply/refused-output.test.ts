import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { AgentActivity, EntryKind, Outcome, ToolState } from '@uswarm/runtime-proto';
import { chunk, done, entry, type EventInit } from '../../../test/runtime-script.js';
import { createTestReply } from '../../../test/test-reply.js';
import { MAX_ENTRY_BYTES } from '../journal/journal.store.js';
import type { Refusal } from '../content/reply-limit.js';

const KIB = 'x'.repeat(1_024);
const many = (count: number, make: (n: number) => EventInit): EventInit[] =>
  Array.from({ length: count }, (_, n) => make(n));
const tool = (name: string, callId = 'c'): EventInit => ({
  case: 'tool',
  value: { callId, tool: name, state: ToolState.RUNNING },
});
const activity = (n: number): EventInit => ({
  case: 'activity',
  value: { activity: n % 2 === 0 ? AgentActivity.THINKING : AgentActivity.WRITING },
});
const usage = (more: object): EventInit => ({ case: 'usage', value: { step: 1, provider: 'p', model: 'm', ...more } });
const attempt = (more: object = {}): EventInit => ({
  case: 'attempt',
  value: { step: 1, provider: 'p', model: 'm', promptTokens: 60n, maxOutputTokens: 40n, ...more },
});
const card = (agentId: string): EventInit => ({
  case: 'message',
  value: {
    key: 'k',
    agentId,
    content: { type: 'action_card', title: 'T', description: '', actions: [{ id: 'a', label: 'A', style: 'primary' }] },
  },
});
const produced = (value: object): EventInit => ({
  case: 'entry',
  value: { number: 1, kind: EntryKind.RESULT, body: '{}', ...value },
});
const record = (more: object): EventInit => produced({ call: { tool: 'search', arguments: '{}', ...more } });

const CODES: Partial<Record<Refusal, string>> = {
  text_too_long: 'reply_too_long',
  too_many_parts: 'reply_too_many_parts',
};

async function play(...events: EventInit[]) {
  const { told, stored, play: receive } = createTestReply({ tools: ['search'] });
  await receive(...events, done('ok'));
  return { ...told, ...stored };
}

describe('output of a runtime beyond its limits', () => {
  it.each<[string, EventInit[], Refusal]>([
    ['more than 1 MiB of text', many(1_025, () => chunk(KIB)), 'text_too_long'],
    ['a final text of more than 1 MiB', [done('x'.repeat(LIMITS.replyBytes + 1))], 'text_too_long'],
    ['too many tools', many(LIMITS.replyParts + 1, (n) => tool('search', `c${n}`)), 'too_many_parts'],
    [
      'too many messages',
      many(LIMITS.replyParts + 1, (n) => ({ case: 'message', value: { key: `k${n}` } })),
      'too_many_parts',
    ],
    ['too many changes of one tool', many(10 * LIMITS.replyParts + 1, () => tool('search')), 'too_many_parts'],
    ['endless changes of the activity', many(10 * LIMITS.replyParts + 1, activity), 'too_many_parts'],
    ['a long name of a tool', [tool('x'.repeat(257))], 'name_too_long'],
    ['a long id of a call', [tool('search', 'c'.repeat(257))], 'name_too_long'],
    ['a long key of a message', [{ case: 'message', value: { key: 'k'.repeat(257) } }], 'name_too_long'],
    [
      'a long error code',
      [{ case: 'done', value: { outcome: Outcome.FAILED, errorCode: 'e'.repeat(257) } }],
      'name_too_long',
    ],
    ['usage that no model call has', [usage({ promptTokens: 100_000_001n })], 'usage_out_of_range'],
    ['usage that the database cannot store', [usage({ completionTokens: 2n ** 64n - 1n })], 'usage_out_of_range'],
    ['usage of a step that no turn has', [usage({ step: 10_001 })], 'usage_out_of_range'],
    ['such usage in an entry', [produced({ usage: { step: 1, cachedTokens: 2n ** 63n } })], 'usage_out_of_range'],
    ['an impossible estimate', [attempt({ promptTokens: 100_000_001n })], 'usage_out_of_range'],
    ['an impossible output limit', [attempt({ maxOutputTokens: 2n ** 63n })], 'usage_out_of_range'],
    ['a step that was announced before', [attempt(), usage({}), attempt({ promptTokens: 1n })], 'usage_out_of_range'],
    ['a step before the last one', [attempt({ step: 2 }), attempt()], 'usage_out_of_range'],
    ['an entry that is too large', [entry(1, EntryKind.STEP, 'x'.repeat(MAX_ENTRY_BYTES + 1))], 'entry_invalid'],
    ['an entry with a NUL character', [entry(1, EntryKind.STEP, '\u0000')], 'entry_invalid'],
    ['an entry of an unknown kind', [entry(1, EntryKind.UNSPECIFIED)], 'entry_invalid'],
  ])('invariant 12: ends the turn and is counted: %s', async (_what, events, refusal) => {
    const { refusals, ended, finished, usage: counted } = await play(...events);
    expect({ refusals, finished }).toEqual({ refusals: [refusal], finished: [] });
    expect(ended).toBe(CODES[refusal] ?? 'runtime_output_invalid');
    expect(counted.every(({ promptTokens }) => promptTokens === 0)).toBe(true);
  });

  it.each<[string, EventInit, Refusal]>([
    ['a call of a tool that the agent may not use', tool('send_mail'), 'tool_not_offered'],
    ['such a call in an entry', produced({ tool: { callId: 'c', tool: 'send_mail' } }), 'tool_not_offered'],
    ['a message of another agent', card('other'), 'other_agent'],
    ['such a message in an entry', produced({ message: card('other').value }), 'other_agent'],
    ['a record of such a call', record({ tool: 'send_mail' }), 'tool_not_offered'],
    ['a record that is too large', record({ arguments: 'x'.repeat(4_096) }), 'record_too_large'],
  ])('invariant 12: is not stored and counted, and the turn continues: %s', async (_what, event, refusal) => {
    const { refusals, finished, offers, tools, entries } = await play(event);
    expect({ refusals, offers, tools, turn: finished[0]?.turnStatus }).toEqual({
      refusals: [refusal],
      offers: [],
      tools: [],
      turn: 'done',
    });
    expect(entries.flatMap(({ call, tool: line, message }) => call ?? line ?? message ?? [])).toEqual([]);
  });

  it.each<[string, EventInit[]]>([
    ['exactly 1 MiB of text', many(1_024, () => chunk(KIB))],
    [
      'the maximum number of messages with keys of the maximum length',
      many(LIMITS.replyParts, (n) => ({ case: 'message', value: { key: `${n}`.padStart(256, 'k') } })),
    ],
    ['a call of a tool that the agent may use', [tool('search')]],
    ['a message of the agent', [card('a')]],
    ['usage of a model call', [usage({ promptTokens: 100_000_000n })]],
    ['a record of a call', [record({})]],
  ])('does not include %s', async (_what, events) => {
    const { refusals, finished } = await play(...events);
    expect({ refusals, turn: finished[0]?.turnStatus }).toEqual({ refusals: [], turn: 'done' });
  });
});
