import { describe, expect, it } from '@jest/globals';
import { ToolState } from '@uswarm/runtime-proto';
import { z } from 'zod';
import { done, entry, type EventInit } from '../../../test/runtime-script.js';
import { sendingTool } from '../../../test/sample-tools.js';
import { createTestReply, type TestReplyOptions } from '../../../test/test-reply.js';
import { definePlatformTool } from '../tools/platform-tool.js';

const waiting: EventInit = { case: 'waiting', value: {} };
const search = (query = '', tool = 'search'): EventInit => ({
  case: 'tool',
  value: { callId: 's', tool, state: ToolState.RUNNING, query },
});
const wanted = (tool: string): EventInit => ({
  case: 'request',
  value: { callId: tool, tool, arguments: '{"to":"bob"}' },
});

async function play(events: EventInit[], options: TestReplyOptions = {}) {
  const executed: string[] = [];
  const own = (name: string, more: object = {}) =>
    definePlatformTool({
      name,
      description: 'A tool.',
      switchedBy: 'x',
      input: z.object({ to: z.string() }),
      effect: 'own',
      describe: () => name,
      prepare: () => async () => ({ text: `${executed.push(name)}`, failed: false }),
      ...more,
    });
  const send = sendingTool();
  const offered = [
    sendingTool({ name: 'move', effect: 'keyed' }).tool,
    send.tool,
    own('save', { asksAfterUntrustedContent: true }),
    own('write'),
    own('read_mail', { effect: 'read', provider: 'gmail' }),
  ];
  const { stored, told, play: receive } = createTestReply({ offered, ...options });
  await receive(entry(1), ...events, waiting, done('ok'));
  return { executed: [...executed, ...send.sent.map(() => 'send')], ...stored, ...told };
}

describe('a call that the user allows', () => {
  it.each([
    ['move', 'Sending to bob'],
    ['send', 'Sending to bob'],
    ['save', 'save'],
  ])('invariant 11: asks after the agent has read a web page, and states why: %s', async (tool, title) => {
    const { executed, cards, suspended } = await play([search(), wanted(tool)]);
    expect({ executed, suspended }).toEqual({ executed: [], suspended: '' });
    expect(cards).toEqual([
      `Approve? ${title}: You allow this tool. It asks because the agent has read web pages in this conversation, which can contain instructions of others.\nto: “bob”`,
    ]);
  });

  it.each(['write', 'read_mail'])(
    'does not ask if it changes nothing outside of the conversation: %s',
    async (tool) => {
      const { executed, cards } = await play([search(), wanted(tool)]);
      expect({ executed, cards }).toEqual({ executed: [tool], cards: [] });
    },
  );

  it('does not ask before the agent has read anything, also if its runtime hides its calls', async () => {
    const { executed, resolutions } = await play([wanted('send')]);
    expect({ executed, resolutions }).toEqual({ executed: ['send'], resolutions: ['send: sent'] });
  });

  it('asks after the agent has read a mail', async () => {
    const { executed, cards } = await play([wanted('read_mail'), entry(2), wanted('send')]);
    expect(executed).toEqual(['read_mail']);
    expect(cards).toEqual([expect.stringContaining('has read content of a connected app in')]);
  });

  it('asks for what an earlier turn of the conversation has read', async () => {
    const { executed, cards } = await play([wanted('send')], { untrusted: ['artifact', 'attachment'] });
    expect(executed).toEqual([]);
    expect(cards).toEqual([expect.stringContaining('attached files, documents about such content')]);
  });
});

describe('the token for a call of a tool', () => {
  const PIN = ['The PIN is 4711.'];

  it('is valid for its query, and sent after it is stored that the conversation has web pages', async () => {
    const { resolutions, untrusted } = await play([search('tea')]);
    expect([resolutions, [...untrusted]]).toEqual([['s: token for “tea”'], ['web']]);
  });

  it('is not sent to a turn that gets no tokens, for example because it was stopped', async () => {
    const { resolutions } = await play([search('tea')], { getsTokens: false });
    expect(resolutions).toEqual(['s: search: the turn has ended.']);
  });

  it.each([
    ['was not offered', 'other'],
    ['is executed by the orchestrator', 'send'],
  ])('is not sent for a call of a tool that %s', async (_what, tool) => {
    const { resolutions, untrusted } = await play([search('tea', tool)]);
    expect([resolutions, [...untrusted]]).toEqual([[`s: ${tool}: unknown tool.`], []]);
  });

  it('invariant 11: is not sent for a query with text of a memory after the agent has read content from others', async () => {
    const after = (query: string) => play([search(query)], { untrusted: ['app'], privateTexts: PIN });
    expect((await after('what is pin 4711')).resolutions).toEqual([
      expect.stringContaining('search: was not called. The query contains text'),
    ]);
    expect((await after('what is a pin')).resolutions).toEqual(['s: token for “what is a pin”']);
  });

  it('is sent for such a query while the conversation has no content from others', async () => {
    expect((await play([search('4711')], { privateTexts: PIN })).resolutions).toEqual(['s: token for “4711”']);
  });

  it('is sent again by another process that continues the turn before the runtime has it', async () => {
    const progress = { generation: 1, chunkSeq: 0, announcedStep: 0, appliedEvent: 2, resumeFrom: 1 };
    const { told, play: receive } = createTestReply({
      saved: { ...progress, text: '', received: '' },
      untrusted: ['web'],
    });
    await receive(search('tea'), done('ok'));
    expect(told.resolutions).toEqual(['s: token for “tea”']);
  });
});
