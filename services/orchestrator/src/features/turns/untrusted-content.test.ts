import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ToolState } from '@uswarm/runtime-proto';
import { type Call, createTurnHarness, done, entry } from '../../../test/turn-harness.js';
import { defineExternalTool, definePlatformTool, type PlatformTool } from '../tools/platform-tool.js';

type Options = Parameters<typeof createTurnHarness>[1];
type Event = NonNullable<Call['events']>[number];

/** Features of a runtime that gets the token for calls when it announces one. */
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

async function play(events: Event[], options: Options = {}) {
  const { executed, tools } = world();
  const barriers = events.flatMap((event, index) => (event === announced ? [index + 1] : []));
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

describe('the token for calls of tools', () => {
  it('is sent when a call is announced and stored, and only lists the tools before', async () => {
    const { tokens, untrusted } = await play([entry(1), announced, done('ok')]);
    expect({ tokens, untrusted }).toEqual({ tokens: ['list token', 'token'], untrusted: ['web'] });
  });

  it('is not sent to a runtime that hides its calls, whose calls then do not ask', async () => {
    const { tokens, executed } = await play([entry(1), wanted('send'), done('ok')]);
    expect({ tokens, executed }).toEqual({ tokens: ['list token'], executed: ['send'] });
  });

  it('is sent at the start if it is known that the agent has read web pages', async () => {
    expect((await play([done('ok')], { untrusted: ['web'] })).tokens).toEqual(['token']);
  });

  it('counts as used if the runtime cannot wait for it', async () => {
    const { tokens, cards, untrusted } = await play([entry(1), wanted('send'), waiting], {
      features: ['journal.1', 'tools.1'],
    });
    expect({ tokens, untrusted, cards: cards.length }).toEqual({ tokens: ['token'], untrusted: ['web'], cards: 1 });
  });

  it('is not sent to a turn that was stopped', async () => {
    const { tokens } = await play([entry(1), announced, done('ok')], {
      turn: { status: 'running', reply_message_id: 'r', stop_requested: true },
    });
    expect(tokens).not.toContain('token');
  });

  it('is not sent for a call of a tool that was not offered', async () => {
    const other: Event = { case: 'tool', value: { callId: 's', tool: 'other', state: ToolState.RUNNING } };
    const { tokens, untrusted } = await play([entry(1), other, done('ok')]);
    expect({ tokens, untrusted }).toEqual({ tokens: ['list token'], untrusted: [] });
  });
});
