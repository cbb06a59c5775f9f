import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LIMITS, type ErrorBody, type MessageData } from '@uswarm/contract';
import { storedRows } from '../../../test/stored.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const text = (value: string) => ({ content: { type: 'text', text: value } });

describe('sending', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const signUp = async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
  };
  const send = async (body: object) => {
    const path = `/v1/workspaces/${home.workspaceId}/conversations/${home.conversationId}/messages`;
    return (await user.post<{ data: MessageData }>(path, body, 201)).body.data;
  };
  const agent = (index: number) => home.agents[index] ?? { id: '', name: '' };
  const answering = (messageId: string) =>
    uswarm.database
      .selectFrom('turns')
      .select('agent_id')
      .where('user_message_id', '=', messageId)
      .executeTakeFirstOrThrow();

  describe('a message', () => {
    it('REST-034 POST …/messages takes local_id, content, attachments and mentions and answers the message', async () => {
      await signUp();
      const mentions = [{ agent_id: agent(1).id, agent_name: 'Researcher', offset: 0, length: 3 }];
      const sent = await send({ local_id: 'mine', ...text('hey you'), attachments: [], mentions });
      expect(sent).toMatchObject({ local_id: 'mine', ...text('hey you'), attachments: [], mentions });
    });

    it('RES-050 RES-051 names itself and its conversation', async () => {
      await signUp();
      const { id, conversation_id } = await send(text('hi'));
      expect([id, conversation_id]).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), home.conversationId]);
    });

    it('RES-052 RES-054 is of the role user and sent', async () => {
      await signUp();
      expect(await send(text('hi'))).toMatchObject({ role: 'user', status: 'sent' });
    });

    it('RES-053 RES-066 has the text as it was sent, character by character', async () => {
      await signUp();
      const value = '  <b>名前</b> 👩‍🚀\t\u202e\n\\u0000 \u2028 ';
      expect((await send(text(value))).content).toEqual({ type: 'text', text: value });
    });

    it('RES-055 created_at and updated_at are timestamps', async () => {
      await signUp();
      const { created_at, updated_at } = await send(text('hi'));
      expect([created_at, updated_at]).toEqual([expect.stringMatching(ISO), expect.stringMatching(ISO)]);
    });

    it('RES-056 local_id is null where none was sent', async () => {
      await signUp();
      expect((await send(text('hi'))).local_id).toBeNull();
    });

    it('RES-057 a message of the user has no agent', async () => {
      await signUp();
      expect((await send(text('hi'))).agent).toBeNull();
    });

    it('RES-058 RES-059 attachments and mentions are arrays, empty where there are none', async () => {
      await signUp();
      expect(await send(text('hi'))).toMatchObject({ attachments: [], mentions: [] });
    });

    it('RES-061 a mention names the agent as the swarm does, whatever the client says', async () => {
      await signUp();
      const mention = { agent_id: agent(2).id, offset: 1, length: 2 };
      const { mentions } = await send({ ...text('a bc'), mentions: [{ ...mention, agent_name: 'Somebody' }] });
      expect(mentions).toEqual([{ ...mention, agent_name: agent(2).name }]);
    });

    it('may have a text of the longest length', async () => {
      await signUp();
      const value = 'ü'.repeat(LIMITS.messageText);
      expect((await send(text(value))).content).toEqual({ type: 'text', text: value });
    });

    it('ignores unknown fields', async () => {
      await signUp();
      expect(await send({ ...text('hi'), role: 'system', status: 'read', later: { version: 2 } })).toMatchObject({
        role: 'user',
        status: 'sent',
      });
    });
  });

  describe('who answers', () => {
    it('in a swarm is the manager', async () => {
      await signUp();
      expect(await answering((await send(text('hi'))).id)).toEqual({ agent_id: agent(0).id });
    });

    it('in a swarm is the first one mentioned', async () => {
      await signUp();
      const mentions = [3, 1].map((index) => ({ agent_id: agent(index).id, agent_name: '', offset: 0, length: 1 }));
      expect(await answering((await send({ ...text('hi'), mentions })).id)).toEqual({ agent_id: agent(3).id });
    });

    it('in an agent conversation is that agent, whoever is mentioned', async () => {
      await signUp();
      const body = { type: 'agent', agent_id: agent(2).id };
      const made = await user.post<{ data: { id: string } }>(`${home.workspace}/conversations`, body, 201);
      const mentions = [{ agent_id: agent(1).id, agent_name: '', offset: 0, length: 1 }];
      const path = `${home.workspace}/conversations/${made.body.data.id}/messages`;
      const sent = await user.post<{ data: MessageData }>(path, { ...text('hi'), mentions }, 201);
      expect(await answering(sent.body.data.id)).toEqual({ agent_id: agent(2).id });
    });
  });

  describe('refused, with nothing stored', () => {
    it.each([
      ['validation_failed', 'no content', () => ({})],
      ['validation_failed', 'content that is a text', () => ({ content: 'hi' })],
      ['validation_failed', 'content without a type', () => ({ content: { text: 'hi' } })],
      ['validation_failed', 'an unknown type', () => ({ content: { type: 'video', text: 'hi' } })],
      [
        'content_type_not_allowed',
        'a known type that clients may not send',
        () => ({ content: { type: 'system', text: 'hi' } }),
      ],
      [
        'content_type_not_allowed',
        'a card',
        () => ({ content: { type: 'action_card', title: '', description: '', actions: [] } }),
      ],
      ['validation_failed', 'a text that is missing', () => ({ content: { type: 'text' } })],
      ['validation_failed', 'an empty text', () => text('')],
      ['validation_failed', 'a text of blanks', () => text(' \n\t ')],
      ['validation_failed', 'a text that is a number', () => ({ content: { type: 'text', text: 7 } })],
      ['validation_failed', 'a text that is too long', () => text('x'.repeat(LIMITS.messageText + 1))],
      ['validation_failed', 'a text with NUL', () => text('a\u0000b')],
      ['validation_failed', 'a text with a lone surrogate', () => text('a\udc00b')],
      ['validation_failed', 'a local_id with NUL', () => ({ ...text('hi'), local_id: '\u0000' })],
      ['validation_failed', 'a local_id with a lone surrogate', () => ({ ...text('hi'), local_id: '\ud800' })],
      ['validation_failed', 'an empty local_id', () => ({ ...text('hi'), local_id: '' })],
      ['validation_failed', 'a long local_id', () => ({ ...text('hi'), local_id: 'x'.repeat(129) })],
      ['validation_failed', 'a local_id that is a number', () => ({ ...text('hi'), local_id: 1 })],
      ['validation_failed', 'mentions that are no array', () => ({ ...text('hi'), mentions: {} })],
      [
        'validation_failed',
        'a mention of no id',
        () => ({ ...text('hi'), mentions: [{ agent_id: 'x', agent_name: '', offset: 0, length: 1 }] }),
      ],
      [
        'validation_failed',
        'a mention before the text',
        () => ({ ...text('hi'), mentions: [{ agent_id: agent(1).id, agent_name: '', offset: -1, length: 1 }] }),
      ],
      [
        'mention_invalid',
        'a mention beyond the text',
        () => ({ ...text('hi'), mentions: [{ agent_id: agent(1).id, agent_name: '', offset: 1, length: 2 }] }),
      ],
      [
        'mention_invalid',
        'a mention of nobody',
        () => ({ ...text('hi'), mentions: [{ agent_id: crypto.randomUUID(), agent_name: '', offset: 0, length: 1 }] }),
      ],
      [
        'attachment_invalid',
        'an attachment that is no upload',
        () => ({ ...text('hi'), attachments: [{ id: crypto.randomUUID() }] }),
      ],
    ] as const)('%s: %s', async (code, _what, body) => {
      await signUp();
      const before = await storedRows(uswarm.database);
      expect(await user.refusal('POST', home.messages, body())).toBe(code);
      expect(await storedRows(uswarm.database)).toEqual(before);
    });

    it('names the field that is wrong', async () => {
      await signUp();
      const { body } = await user.post<ErrorBody>(home.messages, { content: { type: 'text', text: 7 } }, 400);
      expect(body.extra?.fields?.map(({ path }) => path)).toEqual(['content.text']);
    });

    it('mention_invalid: an agent of somebody else', async () => {
      const other = await uswarm.home(await uswarm.user());
      await signUp();
      const before = await storedRows(uswarm.database);
      const mentions = [{ agent_id: other.agents[0]?.id, agent_name: '', offset: 0, length: 1 }];
      expect(await user.refusal('POST', home.messages, { ...text('hi'), mentions })).toBe('mention_invalid');
      expect(await storedRows(uswarm.database)).toEqual(before);
    });

    it('someone else’s conversation, like one that does not exist', async () => {
      const other = await uswarm.home(await uswarm.user());
      await signUp();
      const before = await storedRows(uswarm.database);
      const codes = [];
      for (const conversation of [
        other.conversation,
        `${home.workspace}/conversations/${other.conversationId}`,
        `${home.workspace}/conversations/x`,
      ]) {
        codes.push(await user.refusal('POST', `${conversation}/messages`, text('hi')));
        codes.push(await user.refusal('GET', `${conversation}/messages`));
      }
      expect(codes).toEqual([
        'workspace_not_found',
        'workspace_not_found',
        ...Array.from({ length: 4 }, () => 'conversation_not_found'),
      ]);
      expect(await storedRows(uswarm.database)).toEqual(before);
    });

    it('turn_queue_full: the 21st message whose reply has to wait, also when all come at once', async () => {
      await signUp();
      const all = await Promise.all(
        Array.from({ length: LIMITS.queuedTurns + 5 }, (_, index) =>
          user.raw<{ code?: string }>({
            method: 'POST',
            path: home.messages,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(text(`message ${index}`)),
          }),
        ),
      );
      const codes = all.map(({ status, body }) => body.code ?? status);
      expect(codes.filter((code) => code === 201)).toHaveLength(LIMITS.queuedTurns);
      expect(codes.filter((code) => code === 'turn_queue_full')).toHaveLength(5);
      const rows = await storedRows(uswarm.database);
      expect(rows['messages']?.filter((row) => row.includes(home.conversationId))).toHaveLength(LIMITS.queuedTurns);
    });
  });
});
