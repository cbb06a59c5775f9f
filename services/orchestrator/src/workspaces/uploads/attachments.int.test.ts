import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { upload } from '../../../test/uploads.js';
import type { WithTransaction } from '../../platform/database/database.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { type Attachments, createAttachments } from './attachments.js';

const UNKNOWN = '0192d3a4-0000-7000-8000-000000000000';

describe('attachments', () => {
  let uswarm: TestOrchestrator;
  let attachments: Attachments;
  let user: TestUser;
  let userId: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    const links = { url: (id: string) => `signed/${id}` };
    attachments = createAttachments({ links });
    user = await uswarm.user();
    userId = await uswarm.idOf(user);
  });
  afterAll(() => uswarm.close());

  const withTransaction: WithTransaction = (run) => createWithTransaction(uswarm.database)(run);
  const resolve = (owner: string, ids: string[]) => withTransaction((tx) => attachments.resolve(owner, ids, tx));

  it('describe the stored upload regardless of the fields from the client, and get a link only when they are rendered', async () => {
    const { url: _, transcript, ...uploaded } = await upload(user, { content: 'hello', name: 'a.txt' });
    const [stored] = await resolve(userId, [uploaded.id]);
    expect(stored).toEqual(uploaded);
    expect(stored && attachments.render(stored)).toEqual({ ...uploaded, transcript, url: `signed/${uploaded.id}` });
  });

  it('keep the requested order without duplicates', async () => {
    const ids = [];
    for (const content of ['1', '2', '3']) ids.push((await upload(user, { content })).id);
    const [one = '', two = '', three = ''] = ids;
    const resolved = await resolve(userId, [three, one, three, two]);
    expect(resolved.map(({ id }) => id)).toEqual([three, one, two]);
  });

  it('are empty without ids', async () => {
    expect(await resolve(userId, [])).toEqual([]);
  });

  it('cause the same error as unknown ones if they belong to another user', async () => {
    const own = await upload(user, { content: 'x' });
    const otherUser = await uswarm.user();
    const foreign = await upload(otherUser, { content: 'x' });
    for (const id of [foreign.id, UNKNOWN]) {
      await expect(resolve(userId, [own.id, id])).rejects.toMatchObject({ code: 'attachment_invalid' });
    }
  });

  it('do not block the deletion of the account while their message is stored', async () => {
    const leaving = await uswarm.user();
    const [{ id }, owner] = [await upload(leaving, { content: 'x' }), await uswarm.idOf(leaving)];
    const storing = withTransaction(async (tx) => {
      const stored = await attachments.resolve(owner, [id], tx);
      expect((await leaving.delete('/v1/auth/delete', {}, 204)).status).toBe(204);
      await attachments.attach(UNKNOWN, stored, tx);
    });
    // The message's conversation is deleted, so the message can no longer be stored.
    await expect(storing).rejects.toThrow(/foreign key/);
  });

  it('can be the same files in a different order in two concurrent messages', async () => {
    const ids: string[] = [];
    for (const content of ['1', '2', '3', '4']) ids.push((await upload(user, { content })).id);
    const { messages } = await uswarm.home(user);
    const send = async (): Promise<string> =>
      (await user.post<{ data: MessageData }>(messages, { content: { type: 'text', text: 'x' } }, 201)).body.data.id;
    const attach = (messageId: string, uploadIds: string[]) =>
      withTransaction(async (tx) =>
        attachments.attach(messageId, await attachments.resolve(userId, uploadIds, tx), tx),
      );
    for (let round = 0; round < 5; round += 1) {
      const [one, two] = [await send(), await send()];
      await Promise.all([attach(one, ids), attach(two, ids.toReversed())]);
    }
    const rows = await uswarm.database.selectFrom('message_attachments').select('upload_id').execute();
    expect(rows).toHaveLength(40);
  });
});
