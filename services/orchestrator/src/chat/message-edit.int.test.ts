import { describe, expect, it } from '@jest/globals';
import type { Conversation, MessageData } from '@uswarm/contract';
import { END, TOOL, textBody, createMessageClient } from '../../test/message-client.js';
import { rowsContaining, allRows } from '../../test/database-rows.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { upload } from '../../test/uploads.js';
import { LeaseLost } from '../turns/commit.js';

const world = useTurnFixture();
const { pathOf, say, listed, begin, edit, editRefusal, ids, events, queued, answered } = createMessageClient(world);

describe('PATCH /v1/workspaces/{workspaceId}/messages/{id}', () => {
  it('changes the newest message, deletes its answers and starts another turn', async () => {
    const secret = `secret ${crypto.randomUUID()}`;
    const { userMessage } = await answered(secret);
    const before = (await listed())[0];
    const data = await edit(userMessage, 'How?');
    expect(data).toMatchObject({ id: userMessage, extended_status: 'sent', content: { type: 'text', text: 'How?' } });
    expect(Date.parse(data.edited_at ?? '')).toBeGreaterThan(Date.parse(data.created_at));
    expect(data.created_at).toBe(before?.created_at);
    expect(await ids()).toEqual([userMessage]);
    expect(await queued()).toEqual([{ userMessage, agent: world.home.agents[0]?.id, status: 'queued' }]);
    const updated = (await events()).findLast(({ event }) => event === 'message.updated');
    expect(updated?.payload).toMatchObject({ message: { id: userMessage, edited_at: data.edited_at } });
    expect(await rowsContaining(world.uswarm.database, [secret])).toEqual([]);
    const conversation = await world.user.get<{ data: Conversation }>(world.home.conversation);
    expect(conversation.body.data).toMatchObject({ last_message: { id: userMessage }, unread_count: 0 });
  });

  it('cancels a queued answer and queues one for the new text', async () => {
    const { id } = await say('why?');
    await edit(id, 'How?');
    expect(await queued()).toEqual([{ userMessage: id, agent: world.home.agents[0]?.id, status: 'queued' }]);
    const { writer, replyId } = await begin();
    await writer.finish(END);
    expect(await ids()).toEqual([id, replyId]);
  });

  it('cancels a running turn, deletes its messages and rejects its later writes', async () => {
    const { id } = await say('why?');
    const { writer } = await begin();
    await writer.tool(TOOL);
    await edit(id, 'How?');
    expect(await ids()).toEqual([id]);
    const before = await allRows(world.uswarm.database);
    await expect(writer.finish(END)).rejects.toThrow(LeaseLost);
    await expect(writer.tool({ ...TOOL, content: { ...TOOL.content, state: 'failed' } })).rejects.toThrow(LeaseLost);
    expect(await allRows(world.uswarm.database)).toEqual(before);
    expect((await queued()).map(({ status }) => status)).toEqual(['queued']);
  });

  it('starts a turn of the agent that the new text mentions', async () => {
    const { id } = await say('why?');
    const agent = world.home.agents[2];
    const mentions = [{ agent_id: agent?.id, agent_name: '', offset: 0, length: 1 }];
    const data = await edit(id, '@ why?', { mentions });
    expect(data.mentions).toEqual([{ agent_id: agent?.id, agent_name: agent?.name, offset: 0, length: 1 }]);
    expect((await queued()).map((turn) => turn.agent)).toEqual([agent?.id]);
    expect((await edit(id, 'why?')).mentions).toEqual([]);
    expect((await queued()).map((turn) => turn.agent)).toEqual([world.home.agents[0]?.id]);
  });

  it('keeps the attachments if the field is absent, and replaces them otherwise', async () => {
    const one = await upload(world.user, { content: '1' });
    const two = await upload(world.user, { content: '2' });
    const { id } = await say('look', { attachments: [{ id: one.id }] });
    const attached = async () =>
      (
        await world.uswarm.database
          .selectFrom('message_attachments')
          .select('upload_id')
          .where('message_id', '=', id)
          .execute()
      ).map(({ upload_id }) => upload_id);
    expect((await edit(id, 'see')).attachments.map((file) => file.id)).toEqual([one.id]);
    expect(await attached()).toEqual([one.id]);
    const both = { attachments: [{ id: two.id }, { id: one.id }] };
    expect((await edit(id, 'see', both)).attachments.map((file) => file.id)).toEqual([two.id, one.id]);
    expect((await attached()).toSorted()).toEqual([one.id, two.id].toSorted());
    expect((await edit(id, 'see', { attachments: [] })).attachments).toEqual([]);
    expect(await attached()).toEqual([]);
    expect(await editRefusal(id, 'see', { attachments: [{ id: crypto.randomUUID() }] })).toBe('attachment_invalid');
  });

  it('returns the edited message for a retry of the first request', async () => {
    const local_id = crypto.randomUUID();
    const { id } = await say('why?', { local_id });
    const edited = await edit(id, 'How?');
    const again = await world.user.post<{ data: MessageData }>(
      world.home.messages,
      textBody('why?', { local_id }),
      201,
    );
    expect(again.body.data).toMatchObject({ id, edited_at: edited.edited_at, content: { text: 'How?' } });
  });

  it.each([
    ['a blank text without attachments', '  ', {}, 'validation_failed'],
    [
      'a mention outside of the text',
      'x',
      { mentions: [{ agent_id: crypto.randomUUID(), offset: 0, length: 1 }] },
      'mention_invalid',
    ],
  ])('rejects %s', async (_title, text, more, code) => {
    const { id } = await say('why?');
    const before = await allRows(world.uswarm.database);
    expect(await editRefusal(id, text, more)).toBe(code);
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('rejects content of another type than text', async () => {
    const { id } = await say('why?');
    expect(await world.user.refusal('PATCH', pathOf(id), { content: { type: 'system', text: 'x' } })).toBe(
      'content_type_not_allowed',
    );
  });

  it('rejects a message of an agent with message_not_editable', async () => {
    const { reply } = await answered('why?');
    expect(await editRefusal(reply)).toBe('message_not_editable');
  });

  it('rejects a message with message_not_latest after the user sent another one', async () => {
    const { id } = await say('one');
    await say('two');
    const before = await allRows(world.uswarm.database);
    expect(await editRefusal(id)).toBe('message_not_latest');
    expect(await allRows(world.uswarm.database)).toEqual(before);
  });

  it('returns message_not_found for an unknown id and for a message of another user', async () => {
    const { id } = await say('mine');
    const other = await world.uswarm.user();
    const home = await world.uswarm.home(other);
    expect(await editRefusal(crypto.randomUUID())).toBe('message_not_found');
    const path = `${home.workspace}/messages/${id}`;
    expect(await other.refusal('PATCH', path, textBody('x'))).toBe('message_not_found');
  });
});
