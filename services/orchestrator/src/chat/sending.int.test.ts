import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LIMITS, type ErrorBody, type MessageData } from '@uswarm/contract';
import { allRows } from '../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const text = (value: string) => ({ content: { type: 'text', text: value } });

describe('POST …/messages', () => {
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
    it('REST-034 POST …/messages takes local_id, content, attachments and mentions and returns the message', async () => {
      await signUp();
      const mentions = [{ agent_id: agent(1).id, agent_name: 'Researcher', offset: 0, length: 3 }];
      const sent = await send({ local_id: 'mine', ...text('hey you'), attachments: [], mentions });
      expect(sent).toMatchObject({ local_id: 'mine', ...text('hey you'), attachments: [], mentions });
    });

    it('RES-050 RES-051 has its id and the id of its conversation', async () => {
      await signUp();
      const { id, conversation_id } = await send(text('hi'));
      expect({ id, conversation_id }).toEqual({
        id: expect.stringMatching(/^[\da-f-]{36}$/),
        conversation_id: home.conversationId,
      });
    });

    it('RES-052 RES-054 has the role user and the status sent', async () => {
      await signUp();
      expect(await send(text('hi'))).toMatchObject({ role: 'user', status: 'delivered', extended_status: 'sent' });
    });

    it('RES-053 RES-066 has the unmodified text of the request', async () => {
      await signUp();
      const value = '  <b>名前</b> 👩‍🚀\t\u202e\n\\u0000 \u2028 ';
      expect((await send(text(value))).content).toEqual({ type: 'text', text: value });
    });

    it('RES-055 created_at and updated_at are timestamps', async () => {
      await signUp();
      const { created_at, updated_at } = await send(text('hi'));
      expect({ created_at, updated_at }).toEqual({
        created_at: expect.stringMatching(ISO),
        updated_at: expect.stringMatching(ISO),
      });
    });

    it('RES-056 local_id is null if none was sent', async () => {
      await signUp();
      expect((await send(text('hi'))).local_id).toBeNull();
    });

    it('RES-057 agent is null in a user message', async () => {
      await signUp();
      expect((await send(text('hi'))).agent).toBeNull();
    });

    it('RES-058 RES-059 attachments and mentions are arrays, which are empty if none were sent', async () => {
      await signUp();
      expect(await send(text('hi'))).toMatchObject({ attachments: [], mentions: [] });
    });

    it('RES-061 a mention has the agent’s name in the swarm, regardless of the name from the client', async () => {
      await signUp();
      const mention = { agent_id: agent(2).id, offset: 1, length: 2 };
      const { mentions } = await send({ ...text('a bc'), mentions: [{ ...mention, agent_name: 'Somebody' }] });
      expect(mentions).toEqual([{ ...mention, agent_name: agent(2).name }]);
    });

    it('accepts a text of the maximum length', async () => {
      await signUp();
      const value = 'ü'.repeat(LIMITS.messageText);
      expect((await send(text(value))).content).toEqual({ type: 'text', text: value });
    });

    it('ignores unknown fields', async () => {
      await signUp();
      expect(await send({ ...text('hi'), role: 'system', status: 'read', later: { version: 2 } })).toMatchObject({
        role: 'user',
        extended_status: 'sent',
      });
    });
  });

  describe('the answering agent', () => {
    it('is the manager in a swarm conversation', async () => {
      await signUp();
      expect(await answering((await send(text('hi'))).id)).toEqual({ agent_id: agent(0).id });
    });

    it('is the first mentioned agent in a swarm conversation', async () => {
      await signUp();
      const mentions = [3, 1].map((index) => ({ agent_id: agent(index).id, agent_name: '', offset: 0, length: 1 }));
      expect(await answering((await send({ ...text('hi'), mentions })).id)).toEqual({ agent_id: agent(3).id });
    });

    it('is the agent of an agent conversation, regardless of mentions', async () => {
      await signUp();
      const body = { type: 'agent', agent_id: agent(2).id };
      const made = await user.post<{ data: { id: string } }>(`${home.workspace}/conversations`, body, 201);
      const mentions = [{ agent_id: agent(1).id, agent_name: '', offset: 0, length: 1 }];
      const path = `${home.workspace}/conversations/${made.body.data.id}/messages`;
      const sent = await user.post<{ data: MessageData }>(path, { ...text('hi'), mentions }, 201);
      expect(await answering(sent.body.data.id)).toEqual({ agent_id: agent(2).id });
    });
  });

  describe('an invalid message', () => {
    it.each([
      ['validation_failed', 'no content', () => ({})],
      ['validation_failed', 'content that is a string', () => ({ content: 'hi' })],
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
      ['validation_failed', 'a missing text', () => ({ content: { type: 'text' } })],
      ['validation_failed', 'an empty text', () => text('')],
      ['validation_failed', 'a text of white space', () => text(' \n\t ')],
      ['validation_failed', 'a text that is a number', () => ({ content: { type: 'text', text: 7 } })],
      ['validation_failed', 'a text that is too long', () => text('x'.repeat(LIMITS.messageText + 1))],
      ['validation_failed', 'a text with NUL', () => text('a\u0000b')],
      ['validation_failed', 'a text with a lone surrogate', () => text('a\udc00b')],
      ['validation_failed', 'a local_id with NUL', () => ({ ...text('hi'), local_id: '\u0000' })],
      ['validation_failed', 'a local_id with a lone surrogate', () => ({ ...text('hi'), local_id: '\ud800' })],
      ['validation_failed', 'an empty local_id', () => ({ ...text('hi'), local_id: '' })],
      ['validation_failed', 'a long local_id', () => ({ ...text('hi'), local_id: 'x'.repeat(129) })],
      ['validation_failed', 'a local_id that is a number', () => ({ ...text('hi'), local_id: 1 })],
      ['validation_failed', 'mentions that are not an array', () => ({ ...text('hi'), mentions: {} })],
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
        'a mention of an unknown agent',
        () => ({ ...text('hi'), mentions: [{ agent_id: crypto.randomUUID(), agent_name: '', offset: 0, length: 1 }] }),
      ],
      [
        'attachment_invalid',
        'an attachment that is not an upload',
        () => ({ ...text('hi'), attachments: [{ id: crypto.randomUUID() }] }),
      ],
    ] as const)('is rejected with %s and not stored: %s', async (code, _what, body) => {
      await signUp();
      const before = await allRows(uswarm.database);
      expect(await user.refusal('POST', home.messages, body())).toBe(code);
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('is rejected with the path of the invalid field', async () => {
      await signUp();
      const { body } = await user.post<ErrorBody>(home.messages, { content: { type: 'text', text: 7 } }, 400);
      expect(body.extra?.fields?.map(({ path }) => path)).toEqual(['content.text']);
    });

    it('is rejected with mention_invalid: an agent of another user', async () => {
      const other = await uswarm.home(await uswarm.user());
      await signUp();
      const before = await allRows(uswarm.database);
      const mentions = [{ agent_id: other.agents[0]?.id, agent_name: '', offset: 0, length: 1 }];
      expect(await user.refusal('POST', home.messages, { ...text('hi'), mentions })).toBe('mention_invalid');
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('is rejected with the same error for a foreign conversation as for an unknown one', async () => {
      const other = await uswarm.home(await uswarm.user());
      await signUp();
      const before = await allRows(uswarm.database);
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
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('is rejected with turn_queue_full if 20 turns are queued, also under concurrency', async () => {
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
      const rows = await allRows(uswarm.database);
      expect(rows['messages']?.filter((row) => row.includes(home.conversationId))).toHaveLength(LIMITS.queuedTurns);
    });
  });
});
