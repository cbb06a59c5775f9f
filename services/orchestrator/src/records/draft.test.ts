import { describe, expect, it } from '@jest/globals';
import { MessageContentType, type Mention, type MessageDraft } from '@uswarm/contract';
import fc from 'fast-check';
import type { SwarmMember } from './agents.store.js';
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
  it('returns the text unchanged', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.trim() !== ''),
        (text) => {
          expect(checkedText(draft({ content: { type: 'text', text } }))).toBe(text);
        },
      ),
    );
  });

  it.each([undefined, '', ' ', '\n\t\u00a0'])('rejects %j as text', (text) => {
    expect(() => checkedText(draft({ content: { type: 'text', ...(text === undefined ? {} : { text }) } }))).toThrow(
      expect.objectContaining({ code: 'validation_failed' }),
    );
  });

  it.each(['', ' '])('accepts %j as text if there is an attachment', (text) => {
    expect(checkedText(draft({ content: { type: 'text', text }, attachments: [{ id: 'u' }] }))).toBe(text);
  });

  it.each(MessageContentType.options.filter((type) => type !== 'text'))(
    'rejects content of type %s from a client',
    (type) => {
      expect(() => checkedText(draft({ content: { type, text: 'hello' } }))).toThrow(
        expect.objectContaining({ code: 'content_type_not_allowed' }),
      );
    },
  );

  it('rejects an unknown content type', () => {
    expect(() => checkedText(draft({ content: { type: 'video', text: 'hello' } }))).toThrow(
      expect.objectContaining({ code: 'validation_failed' }),
    );
  });
});

describe('checkedMentions', () => {
  it('returns the agent name of the swarm', () => {
    expect(checkedMentions(draft({ mentions: [mention('b', 1, 4)] }), 'hello', MEMBERS)).toEqual([
      { agent_id: 'b', agent_name: 'Agent b', offset: 1, length: 4 },
    ]);
  });

  it('accepts only ranges inside the text', () => {
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
  ])(
    'counts UTF-16 code units and does not split a character: offset %i and length %i in “😀a”',
    (offset, length, accepted) => {
      const check = () => checkedMentions(draft({ mentions: [mention('a', offset, length)] }), '😀a', MEMBERS);
      expect(refused(check)).toBe(!accepted);
    },
  );

  it('rejects an agent of another swarm', () => {
    expect(() => checkedMentions(draft({ mentions: [mention('a'), mention('x')] }), 'hello', MEMBERS)).toThrow(
      expect.objectContaining({ code: 'mention_invalid' }),
    );
  });
});

describe('a mention that is only typed', () => {
  const typed = (text: string) =>
    checkedMentions(draft(), text, MEMBERS).map(({ agent_id, offset }) => [agent_id, offset]);

  it.each([
    ['at the beginning', '@a please', [['a', 0]]],
    ['in other letters, before a comma', 'Well, @A, hello', [['a', 6]]],
    [
      'of two agents, in order',
      '@b and @a, and @b again',
      [
        ['b', 0],
        ['a', 7],
      ],
    ],
    ['in brackets', '(@a)', [['a', 1]]],
    ['of nobody', '@nobody @', []],
    ['in a longer name', '@ab @a_b @a-b', []],
    ['in a mail address', 'mail me@a or x.@a or https://x.example/@a', []],
    ['in code', '`@a` and ```\n@b\n``` and ```@a', []],
  ] satisfies [string, string, [string, number][]][])('counts or not: %s', (_, text, expected) => {
    expect(typed(text)).toEqual(expected);
  });

  it('has the name of the agent and the range of the text', () => {
    expect(checkedMentions(draft(), 'Hi @a!', MEMBERS)).toEqual([
      { agent_id: 'a', agent_name: 'Agent a', offset: 3, length: 2 },
    ]);
  });

  it('does not count beside mentions that the client sends', () => {
    const sent = draft({ mentions: [mention('b', 0, 1)] });
    expect(checkedMentions(sent, 'Hi @a!', MEMBERS).map(({ agent_id }) => agent_id)).toEqual(['b']);
  });

  it('is found in linear time', () => {
    for (const piece of ['`', '```', '@', '@a`', '```@']) {
      const startedAt = performance.now();
      typed(piece.repeat(200_000 / piece.length));
      expect(performance.now() - startedAt).toBeLessThan(1_000);
    }
  });
});

describe('answeringAgents', () => {
  it.each([
    ['the manager in a swarm', null, [], ['m']],
    [
      'every agent mentioned in a swarm, in order and once',
      null,
      [mention('b'), mention('a'), mention('b')],
      ['b', 'a'],
    ],
    ['the agent of an agent conversation', 'a', [], ['a']],
    ['the agent of an agent conversation, regardless of mentions', 'a', [mention('b')], ['a']],
  ])('returns %s', (_what, agentId, mentions, answering) => {
    expect(answeringAgents({ agentId }, mentions, MEMBERS)).toEqual(answering);
  });

  it('rejects a swarm without a manager', () => {
    expect(() => answeringAgents({ agentId: null }, [], [member('a')])).toThrow(
      expect.objectContaining({ code: 'workspace_not_found' }),
    );
  });
});

describe('bodyHash', () => {
  const hash = (conversation: string, more: Partial<MessageDraft> = {}) =>
    bodyHash(conversation, draft(more)).toString('hex');

  it('returns the same hash for equivalent bodies', () => {
    const named = [{ ...mention('a'), agent_name: 'Other' }];
    expect(hash('c', { mentions: named })).toEqual(hash('c', { mentions: [mention('a')] }));
  });

  it.each<[string, string, Partial<MessageDraft>]>([
    ['conversation', 'other', {}],
    ['text', 'c', { content: { type: 'text', text: 'hello ' } }],
    ['type', 'c', { content: { type: 'system', text: 'hello' } }],
    ['mention', 'c', { mentions: [mention('a')] }],
    ['attachment', 'c', { attachments: [{ id: 'u' }] }],
  ])('returns a different hash for another %s', (_what, conversation, more) => {
    expect(hash(conversation, more)).not.toBe(hash('c'));
  });

  it('returns a different hash for another order of mentions', () => {
    const mentions = [mention('a'), mention('b')];
    expect(hash('c', { mentions })).not.toBe(hash('c', { mentions: mentions.toReversed() }));
  });
});
