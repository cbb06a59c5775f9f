import { describe, expect, it } from '@jest/globals';
import { MessageContentType, type Mention, type MessageDraft } from '@uswarm/contract';
import fc from 'fast-check';
import type { SwarmMember } from '../agents/agents.store.js';
import { answeringAgents, bodyHash, checkedMentions, checkedText } from './draft.js';

const member = (id: string, kind: SwarmMember['kind'] = 'sub-agent'): SwarmMember => ({
  id,
  slug: id,
  name: `Agent ${id}`,
  kind,
  description: '',
  skills: [],
});
const MEMBERS = [member('a'), member('m', 'manager'), member('b')];
const mention = (agent_id: string, offset = 0, length = 1): Mention => ({
  agent_id,
  agent_name: 'claimed',
  offset,
  length,
});
const draft = (more: Partial<MessageDraft> = {}): MessageDraft => ({
  content: { type: 'text', text: 'hello' },
  mentions: [],
  attachments: [],
  ...more,
});

function refused(check: () => unknown): boolean {
  try {
    check();
    return false;
  } catch {
    return true;
  }
}

describe('checkedText', () => {
  it('gives the text as it is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.trim() !== ''),
        (text) => {
          expect(checkedText(draft({ content: { type: 'text', text } }))).toBe(text);
        },
      ),
    );
  });

  it.each([undefined, '', ' ', '\n\t\u00a0'])('wants a text, not %j', (text) => {
    expect(() => checkedText(draft({ content: { type: 'text', ...(text === undefined ? {} : { text }) } }))).toThrow(
      expect.objectContaining({ code: 'validation_failed' }),
    );
  });

  it.each(['', ' '])('wants none beside an attachment: %j', (text) => {
    expect(checkedText(draft({ content: { type: 'text', text }, attachments: [{ id: 'u' }] }))).toBe(text);
  });

  it.each(MessageContentType.options.filter((type) => type !== 'text'))('does not let a client send %s', (type) => {
    expect(() => checkedText(draft({ content: { type, text: 'hello' } }))).toThrow(
      expect.objectContaining({ code: 'content_type_not_allowed' }),
    );
  });

  it('does not know another type', () => {
    expect(() => checkedText(draft({ content: { type: 'video', text: 'hello' } }))).toThrow(
      expect.objectContaining({ code: 'validation_failed' }),
    );
  });
});

describe('checkedMentions', () => {
  it('takes the name from the swarm', () => {
    expect(checkedMentions(draft({ mentions: [mention('b', 1, 4)] }), 'hello', MEMBERS)).toEqual([
      { agent_id: 'b', agent_name: 'Agent b', offset: 1, length: 4 },
    ]);
  });

  it('accepts exactly the ranges inside the text', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat({ max: 40 }), fc.nat({ max: 40 }), (text, offset, length) => {
        expect(refused(() => checkedMentions(draft({ mentions: [mention('a', offset, length)] }), text, MEMBERS))).toBe(
          offset + length > text.length,
        );
      }),
    );
  });

  it.each([
    [0, 2, true],
    [0, 1, false],
    [1, 1, false],
    [1, 0, false],
    [2, 1, true],
    [0, 3, true],
  ])('counts UTF-16 code units and cuts no character: %i and %i in “😀a”', (offset, length, accepted) => {
    const check = () => checkedMentions(draft({ mentions: [mention('a', offset, length)] }), '😀a', MEMBERS);
    expect(refused(check)).toBe(!accepted);
  });

  it('refuses an agent that is not of the swarm', () => {
    expect(() => checkedMentions(draft({ mentions: [mention('a'), mention('x')] }), 'hello', MEMBERS)).toThrow(
      expect.objectContaining({ code: 'mention_invalid' }),
    );
  });
});

describe('the agents that answer', () => {
  it.each([
    ['the manager in a swarm', null, [], ['m']],
    [
      'every agent mentioned in a swarm, in order and once',
      null,
      [mention('b'), mention('a'), mention('b')],
      ['b', 'a'],
    ],
    ['the agent of an agent conversation', 'a', [], ['a']],
    ['the agent of an agent conversation, whoever is mentioned', 'a', [mention('b')], ['a']],
  ])('are %s', (_what, agentId, mentions, answering) => {
    expect(answeringAgents({ agentId }, mentions, MEMBERS)).toEqual(answering);
  });

  it('is nobody in a swarm without a manager', () => {
    expect(() => answeringAgents({ agentId: null }, [], [member('a')])).toThrow(
      expect.objectContaining({ code: 'workspace_not_found' }),
    );
  });
});

describe('bodyHash', () => {
  const hash = (conversation: string, more: Partial<MessageDraft> = {}) =>
    bodyHash(conversation, draft(more)).toString('hex');

  it('is the same for what means the same', () => {
    const named = draft({ mentions: [{ ...mention('a'), agent_name: 'Other' }] });
    expect(bodyHash('c', named)).toEqual(bodyHash('c', draft({ mentions: [mention('a')] })));
  });

  it.each<[string, string, Partial<MessageDraft>]>([
    ['conversation', 'other', {}],
    ['text', 'c', { content: { type: 'text', text: 'hello ' } }],
    ['type', 'c', { content: { type: 'system', text: 'hello' } }],
    ['mention', 'c', { mentions: [mention('a')] }],
    ['attachment', 'c', { attachments: [{ id: 'u' }] }],
  ])('is another one for another %s', (_what, conversation, more) => {
    expect(hash(conversation, more)).not.toBe(hash('c'));
  });

  it('tells the order of mentions apart', () => {
    const mentions = [mention('a'), mention('b')];
    expect(hash('c', { mentions })).not.toBe(hash('c', { mentions: mentions.toReversed() }));
  });
});
