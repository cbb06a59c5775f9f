import { describe, expect, it } from '@jest/globals';
import { EntryKind, ToolState } from '@uswarm/runtime-proto';
import { type Call, createTurnHarness, done, entry } from '../../../test/turn-harness.js';
import { MAX_ENTRY_BYTES } from '../journal/journal.store.js';
import type { Refusal } from '../content/reply-limit.js';

type Event = NonNullable<Call['events']>[number];

const FEATURES = ['journal.1', 'tools.1', 'journal.2'];
const tool = (name: string, callId = 'c'): Event => ({
  case: 'tool',
  value: { callId, tool: name, state: ToolState.RUNNING },
});
const usage = (more: object): Event => ({ case: 'usage', value: { step: 1, provider: 'p', model: 'm', ...more } });
const card = (agentId: string): Event => ({
  case: 'message',
  value: {
    key: 'k',
    agentId,
    content: { type: 'action_card', title: 'T', description: '', actions: [{ id: 'a', label: 'A', style: 'primary' }] },
  },
});
const produced = (value: object): Event => ({
  case: 'entry',
  value: { number: 1, kind: EntryKind.RESULT, body: '{}', ...value },
});
const record = (more: object): Event => produced({ call: { tool: 'search', arguments: '{}', ...more } });

async function play(event: Event) {
  const harness = createTurnHarness([{ events: [event, done('ok')] }], { features: FEATURES, tools: ['search'] });
  await harness.run();
  const { refusals, ended, cards, journal, usage: steps } = harness.recorded;
  return { refusals, ended, cards, calls: journal.flatMap(({ call }) => (call === undefined ? [] : [call])), steps };
}

describe('output of a runtime beyond its limits', () => {
  it.each<[string, Event, Refusal]>([
    ['a name that is too long', tool('x'.repeat(257)), 'name_too_long'],
    ['usage that no model call has', usage({ promptTokens: 100_000_001n }), 'usage_out_of_range'],
    ['usage that the database cannot store', usage({ completionTokens: 2n ** 64n - 1n }), 'usage_out_of_range'],
    ['usage of a step that no turn has', usage({ step: 2 ** 32 - 1 }), 'usage_out_of_range'],
    ['such usage in an entry', produced({ usage: { step: 1, cachedTokens: 2n ** 63n } }), 'usage_out_of_range'],
    ['an entry that is too large', entry(1, EntryKind.STEP, 'x'.repeat(MAX_ENTRY_BYTES + 1)), 'entry_invalid'],
    ['an entry after a gap', entry(2), 'entry_out_of_order'],
    [
      'a request of a tool that was not offered',
      { case: 'request', value: { callId: 'c', tool: 'send_mail', arguments: '{}' } },
      'tool_not_offered',
    ],
  ])('invariant 12: ends the turn and is counted: %s', async (_what, event, refusal) => {
    const { refusals, ended, steps } = await play(event);
    expect({ refusals, ended, steps }).toEqual({
      refusals: [refusal],
      ended: { status: 'failed', errorCode: 'runtime_output_invalid' },
      steps: [],
    });
  });

  it.each<[string, Event, Refusal]>([
    ['a call of a tool that the agent may not use', tool('send_mail'), 'tool_not_offered'],
    ['such a call in an entry', produced({ tool: { callId: 'c', tool: 'send_mail' } }), 'tool_not_offered'],
    ['a message of another agent', card('other'), 'other_agent'],
    ['such a message in an entry', produced({ message: card('other').value }), 'other_agent'],
    ['a record of such a call', record({ tool: 'send_mail' }), 'tool_not_offered'],
    ['a record that is too large', record({ arguments: 'x'.repeat(4_096) }), 'record_too_large'],
  ])('invariant 12: is not stored and counted, and the turn continues: %s', async (_what, event, refusal) => {
    const { refusals, ended, cards, calls } = await play(event);
    expect({ refusals, ended, cards, calls }).toEqual({
      refusals: [refusal],
      ended: { status: 'done', errorCode: null },
      cards: [],
      calls: [],
    });
  });

  it.each<[string, Event]>([
    ['a call of a tool that the agent may use', tool('search')],
    ['a message of the agent', card('a')],
    ['usage of a model call', usage({ promptTokens: 100_000_000n })],
    ['a record of a call', record({})],
  ])('does not include %s', async (_what, event) => {
    const { refusals, ended } = await play(event);
    expect({ refusals, ended }).toEqual({ refusals: [], ended: { status: 'done', errorCode: null } });
  });
});
