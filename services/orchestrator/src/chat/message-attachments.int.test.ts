import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Attachment, MessageData, MessagePage, ReplayedEvent } from '@uswarm/contract';
import { allRows } from '../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { createTestTurnWorker } from '../../test/turn-fixture.js';
import { download, PNG, upload } from '../../test/uploads.js';
import { loadHistory } from '../turns/turns.store.js';

describe('attachments of messages', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  beforeEach(async () => {
    await uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const body = (attachments: object[], text = 'look', more: object = {}) => ({
    content: { type: 'text', text },
    attachments,
    ...more,
  });
  const send = async (sent: object) => (await user.post<{ data: MessageData }>(home.messages, sent, 201)).body.data;
  const withoutUrl = ({ url: _, ...rest }: Attachment) => rest;

  it('are resolved by their id, and other fields from the client are ignored', async () => {
    const uploaded = await upload(user, { content: PNG, name: 'a.png' });
    const claimed = {
      id: uploaded.id,
      url: 'https://evil.example/',
      name: 'x.exe',
      type: 'video',
      size: 1,
      mime_type: 'text/html',
    };
    const [attachment, ...more] = (await send(body([claimed]))).attachments;
    expect({ more, attachment: attachment && withoutUrl(attachment) }).toEqual({
      more: [],
      attachment: withoutUrl(uploaded),
    });
  });

  it('have a working link in the response, the list, the conversation and the event', async () => {
    const uploaded = await upload(user, { content: 'hello' });
    const sent = await send(body([uploaded]));
    const listed = (await user.get<MessagePage>(home.messages)).body.data[0];
    const conversation = await user.get<{ data: { last_message: MessageData } }>(home.conversation);
    const events = (await user.get<{ data: ReplayedEvent[] }>(`${home.workspace}/events`)).body.data;
    const shown = [sent, listed, conversation.body.data.last_message, events[0]?.payload['message'] as MessageData];
    for (const message of shown) {
      const { bytes } = await download(uswarm.url, message?.attachments[0]?.url ?? '');
      expect(bytes.toString()).toBe('hello');
    }
  });

  it('are stored without their link', async () => {
    await send(body([await upload(user, { content: 'hello' })]));
    const rows = await allRows(uswarm.database);
    expect(rows['messages']?.join('\n')).not.toMatch(/sig=|"url"/);
  });

  it('keep the order of the request, without duplicates', async () => {
    const ids: string[] = [];
    for (const content of ['1', '2', '3']) ids.push((await upload(user, { content })).id);
    const [one, two, three] = ids;
    const { attachments } = await send(body([three, one, three, two].map((id) => ({ id }))));
    expect(attachments.map(({ id }) => id)).toEqual([three, one, two]);
  });

  it('are accepted without a text', async () => {
    const { id } = await upload(user, { content: 'x', name: 'notes.txt' });
    const message = await send(body([{ id }], ''));
    expect({ content: message.content, attachments: message.attachments.map((each) => each.id) }).toEqual({
      content: { type: 'text', text: '' },
      attachments: [id],
    });
    const turnWorker = createTestTurnWorker(uswarm.database);
    const history = await loadHistory(
      turnWorker.stores.database,
      await turnWorker.turnOf(await turnWorker.claim()),
      10,
    );
    expect(history.map(({ text }) => text)).toEqual([
      expect.stringContaining('[attached: notes.txt, text/plain, 1 bytes, id '),
    ]);
  });

  it('are compared by id alone when a request is retried', async () => {
    const { id } = await upload(user, { content: 'x' });
    const first = await send(body([{ id }], 'look', { local_id: 'l' }));
    expect((await send(body([{ id, name: 'other' }], 'look', { local_id: 'l' }))).id).toBe(first.id);
    expect(await user.refusal('POST', home.messages, body([], 'look', { local_id: 'l' }))).toBe('local_id_reused');
  });

  it.each([
    ['of another user', async () => upload(await uswarm.user(), { content: 'x' })],
    ['that does not exist', async () => ({ id: crypto.randomUUID() })],
  ])('are rejected if one is an upload %s, and nothing is stored', async (_what, other) => {
    const [own, foreign] = [await upload(user, { content: 'x' }), await other()];
    const before = await allRows(uswarm.database);
    expect(await user.refusal('POST', home.messages, body([own, foreign]))).toBe('attachment_invalid');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it.each([
    ['a malformed id', [{ id: 'x' }]],
    ['no id', [{ name: 'x' }]],
    ['too many', Array.from({ length: 21 }, () => ({ id: crypto.randomUUID() }))],
    ['an object instead of an array', {}],
  ])('are rejected with %s', async (_what, attachments) => {
    expect(await user.refusal('POST', home.messages, { ...body([]), attachments })).toBe('validation_failed');
  });
});
