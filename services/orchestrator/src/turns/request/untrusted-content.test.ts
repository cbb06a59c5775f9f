import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ToolState } from '@uswarm/runtime-proto';
import { type Call, createTurnHarness, done, entry } from '../../../test/turn-harness.js';
import { defineExternalTool, definePlatformTool, type PlatformTool } from '../tools/platform-tool.js';

type Options = Parameters<typeof createTurnHarness>[1];
type Event = NonNullable<Call['events']>[number];

/** The runtime announces calls and gets a token for each. */
const GRANTS = ['journal.1', 'tools.1', 'tool-grants.1'];
const waiting: Event = { case: 'waiting', value: {} };
const announced: Event = { case: 'tool', value: { callId: 's', tool: 'search', state: ToolState.RUNNING } };
const wanted = (tool: string, callId = tool): Event => ({
  case: 'request',
  value: { callId, tool, arguments: '{"to":5}' },
});

function world() {
  const executed: string[] = [];
  const input = z.object({ to: z.number() });
  const common = { description: 'A tool.', switchedBy: 'x', input };
  const external = (name: string, effect: 'keyed' | 'once') =>
    defineExternalTool({
      ...common,
      name,
      effect,
      describe: () => name,
      plan: async () => ({ key: 'k' }),
      async send() {
        executed.push(name);
        return { text: 'sent', failed: false };
      },
      lookUp: async () => undefined,
    });
  const own = (name: string, more: object = {}) =>
    definePlatformTool({
      ...common,
      name,
      effect: 'own',
      describe: () => name,
      prepare: () => async () => ({ text: `${executed.push(name)}`, failed: false }),
      ...more,
    });
  const tools: PlatformTool[] = [
    external('move', 'keyed'),
    external('send', 'once'),
    own('save', { asksAfterUntrustedContent: true }),
    own('write'),
    own('read_mail', { effect: 'read', provider: 'gmail' }),
  ];
  return { executed, tools };
}

async function play(events: Event[], { barriers: given, ...options }: Options & { barriers?: number[] } = {}) {
  const { executed, tools } = world();
  const barriers = given ?? events.flatMap((event, index) => (event === announced ? [index + 1] : []));
  const harness = createTurnHarness([{ events, barriers }], {
    features: GRANTS,
    platformTools: tools,
    tools: ['search'],
    ...options,
  });
  await harness.run();
  const { cards, renewals, requests, suspended, untrusted, resolutions } = harness.recorded;
  const tokens = [requests[0]?.toolToken ?? '', ...renewals].map((token) => token.split(' of ')[0]);
  return { executed, cards, tokens, suspended, untrusted: [...untrusted], resolutions };
}

describe('a call that the user allows', () => {
  it.each(['move', 'send', 'save'])(
    'invariant 11: asks after the agent has read a web page, and states why: %s',
    async (tool) => {
      const { executed, cards, suspended } = await play([entry(1), announced, wanted(tool), waiting]);
      expect({ executed, suspended }).toEqual({ executed: [], suspended: true });
      expect(cards).toEqual([
        `Approve? ${tool}: You allow this tool. It asks because the agent has read web pages in this conversation, which can contain instructions of others.\nto: “5”`,
      ]);
    },
  );

  it.each(['write', 'read_mail'])(
    'does not ask if it changes nothing outside of the conversation: %s',
    async (tool) => {
      const { executed, cards } = await play([entry(1), announced, wanted(tool), done('ok')]);
      expect({ executed, cards }).toEqual({ executed: [tool], cards: [] });
    },
  );

  it('does not ask before the agent has read anything', async () => {
    expect((await play([entry(1), wanted('send'), done('ok')])).executed).toEqual(['send']);
  });

  it('asks after the agent has read a mail', async () => {
    const { executed, cards } = await play([entry(1), wanted('read_mail'), entry(2), wanted('send'), waiting]);
    expect(executed).toEqual(['read_mail']);
    expect(cards).toEqual([expect.stringContaining('has read content of a connected app in')]);
  });

  it('asks for what an earlier turn of the conversation has read', async () => {
    const { executed, cards } = await play([entry(1), wanted('send'), waiting], {
      untrusted: ['artifact', 'attachment'],
    });
    expect(executed).toEqual([]);
    expect(cards).toEqual([expect.stringContaining('attached files, documents about such content')]);
  });
});

describe('the token for a call of a tool', () => {
  const search = (query: string, tool = 'search'): Event => ({
    case: 'tool',
    value: { callId: 's', tool, state: ToolState.RUNNING, query },
  });
  const PIN = ['The PIN is 4711.'];
  /** @returns the runtime's answer to an announced call */
  const answered = async (event: Event, options: Options & { barriers?: number[]; events?: Event[] } = {}) => {
    const { events = [entry(1), event, done('ok')], ...more } = options;
    const { resolutions, untrusted, tokens } = await play(events, { barriers: [2], ...more });
    expect(tokens).toEqual(['list token']);
    return { answers: resolutions.map((text) => text.split(' of ')[0]), untrusted };
  };

  it('is valid for its query, and sent after it is stored that the conversation has web pages', async () => {
    expect(await answered(search('tea'))).toEqual({ answers: ['s: token for “tea”'], untrusted: ['web'] });
  });

  it('is not sent to a runtime that hides its calls, whose calls then do not ask', async () => {
    const { tokens, executed, resolutions } = await play([entry(1), wanted('send'), done('ok')]);
    expect({ tokens, executed }).toEqual({ tokens: ['list token'], executed: ['send'] });
    expect(resolutions.join()).not.toContain('token');
  });

  it('is never sent to a runtime that cannot wait for it, whose conversation counts as one with web pages', async () => {
    const { tokens, cards, untrusted } = await play([entry(1), wanted('send'), waiting], {
      features: ['journal.1', 'tools.1'],
    });
    expect({ tokens, untrusted, cards: cards.length }).toEqual({
      tokens: ['list token'],
      untrusted: ['web'],
      cards: 1,
    });
  });

  it('is not sent to a turn that was stopped', async () => {
    const { resolutions } = await play([entry(1), search('tea'), done('ok')], {
      barriers: [2],
      turn: { status: 'running', reply_message_id: 'r', stop_requested: true },
    });
    expect(resolutions.join()).not.toContain('token');
  });

  it.each([
    ['was not offered', 'other'],
    ['is executed by the orchestrator', 'send'],
  ])('is not sent for a call of a tool that %s', async (_what, tool) => {
    const { answers, untrusted } = await answered(search('tea', tool));
    expect({ answers, untrusted }).toEqual({ answers: [`s: ${tool}: unknown tool.`], untrusted: [] });
  });

  it('invariant 11: is not sent for a query with text of a memory after the agent has read content from others', async () => {
    const refused = await answered(search('what is pin 4711'), { untrusted: ['app'], privateTexts: PIN });
    expect(refused.answers).toEqual([expect.stringContaining('search: was not called. The query contains text')]);
    const other = await answered(search('what is a pin'), { untrusted: ['app'], privateTexts: PIN });
    expect(other.answers).toEqual(['s: token for “what is a pin”']);
  });

  it('is sent for such a query while the conversation has no content from others', async () => {
    expect((await answered(search('4711'), { privateTexts: PIN })).answers).toEqual(['s: token for “4711”']);
  });

  it('is sent again by another process that continues the turn before the runtime has it', async () => {
    const progress = { generation: 1, chunkSeq: 0, announcedStep: 0, appliedEvent: 2, resumeFrom: 1 };
    const { answers } = await answered(search('tea'), {
      turn: { status: 'running', reply_message_id: 'r', runtime_instance: 'i' },
      saved: { ...progress, text: '', received: '' },
      barriers: [1],
      untrusted: ['web'],
      events: [search('tea'), done('ok')],
    });
    expect(answers).toEqual(['s: token for “tea”']);
  });
});
