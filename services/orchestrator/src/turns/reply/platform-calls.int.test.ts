import { describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage, ReceiptPage } from '@uswarm/contract';
import { settleReceipts } from '../../../test/settle-receipts.js';
import { ASKED } from '../../../test/message-client.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { findReceipt, findCallsOfConversation, hasSentSince } from '../receipts/receipts.store.js';
import { approvalCard, callHash } from '../../records/approval-card.js';
import type { FinishedReply } from '../writer/turn-ending.js';
import type { TurnWriter } from '../writer/turn-writes.js';

const STOPPED: FinishedReply = { turnStatus: 'stopped', messageStatus: 'failed', text: 'Stopped.', errorCode: null };
const FAILED: FinishedReply = {
  turnStatus: 'failed',
  messageStatus: 'failed',
  text: 'Down.',
  errorCode: 'model_unavailable',
};
const SENDING = 'Sending “X” to bob';
const MAIL = { id: 'm', tool: 'send_mail', description: SENDING, stoppable: false };

describe('the call of a tool that the orchestrator executes', () => {
  const world = useTurnFixture();
  const messages = async () =>
    (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data;
  const lines = async () =>
    (await messages()).flatMap(({ content }) => (content.type === 'tool_status' ? [content] : []));
  const send = async (text: string) => {
    const body = { content: { type: 'text', text } };
    return (await world.user.post<{ data: MessageData }>(world.home.messages, body, 201)).body.data;
  };

  async function begin(text = 'go') {
    await send(text);
    const job = await world.turnWorker.claim();
    const writer = await world.turnWorker.writerOf(job);
    await writer.begin();
    const turn = await world.turnWorker.turnOf(job);
    const call = {
      id: MAIL.id,
      turnId: turn.id,
      workspaceId: turn.workspace_id,
      userId: turn.user_id,
      agentId: turn.agent_id,
      conversationId: turn.conversation_id,
    };
    const receipt = {
      call,
      tool: MAIL.tool,
      effect: 'once',
      arguments: { to: ['bob@example.com'] },
      argumentsHash: callHash(MAIL.tool, {}),
      key: 'k',
    } as const;
    return { writer, turn, receipt };
  }
  async function sent() {
    const begun = await begin();
    expect(await begun.writer.markSent(begun.receipt, SENDING)).toBeUndefined();
    return begun;
  }
  const finishCall = (writer: TurnWriter, turnId: string, outcome: string) =>
    writer.call(MAIL, async (tx) => {
      await world.turnWorker.stores.receipts.finish(turnId, MAIL.id, { status: 'succeeded', outcome }, tx);
      return { text: outcome, failed: false };
    });
  const receipts = async () => (await world.user.get<ReceiptPage>('/v1/receipts')).body.data;

  describe('with text that Postgres cannot store', () => {
    const BAD = 'Hello\u0000\ud800';
    const GOOD = 'Hello\ufffd';

    it('has an outcome without these characters, as the model and a repeated request get it', async () => {
      const { writer } = await begin();
      const { outcome } = await writer.call(MAIL, async () => ({ text: BAD, failed: false }));
      expect(outcome.text).toBe(GOOD);
      expect((await writer.findCall(MAIL.id)).outcome?.text).toBe(GOOD);
    });

    it('has a receipt without them', async () => {
      const { writer, turn } = await sent();
      await finishCall(writer, turn.id, BAD);
      expect(await receipts()).toMatchObject([{ outcome: GOOD, status: 'succeeded' }]);
    });

    it('has keys of receipts and approvals without them', async () => {
      const { writer, receipt, turn } = await begin();
      await writer.markSent({ ...receipt, key: BAD }, SENDING);
      const card = approvalCard({ title: 'Send?', changes: [] }, ASKED);
      const asked = {
        id: 'a',
        tool: 'send_mail',
        argumentsHash: callHash('send_mail', 1),
        card,
        integrationId: undefined,
      };
      await writer.ask({ ...asked, key: BAD });
      const { approval } = await writer.findCall('a');
      expect([(await findReceipt(world.uswarm.database, turn.id, 'm'))?.key, approval?.key]).toEqual([GOOD, GOOD]);
    });

    it('has a card without them', () => {
      const changes = [{ label: 'Title', before: BAD, after: BAD }];
      expect(JSON.stringify(approvalCard({ title: BAD, changes }, ASKED))).not.toContain('\\u0000');
    });
  });

  it('is shown as running as soon as its request may leave, and then with its end', async () => {
    const { writer, turn } = await sent();
    expect(await lines()).toEqual([{ type: 'tool_status', tool: 'send_mail', description: SENDING, state: 'running' }]);
    await finishCall(writer, turn.id, 'Sent.');
    expect(await lines()).toEqual([
      { type: 'tool_status', tool: 'send_mail', description: SENDING, state: 'completed' },
    ]);
  });

  it.each([STOPPED, FAILED])(
    'stays to be looked up, and is shown as possibly executed, if the turn ends without an outcome: %j',
    async (end) => {
      const { writer } = await sent();
      await writer.finish(end);
      expect(await lines()).toMatchObject([
        { state: 'failed', description: `It is not known whether this was executed: ${SENDING}` },
      ]);
      expect(await receipts()).toMatchObject([{ status: 'sent' }]);
    },
  );

  it('is shown as possibly executed if its outcome is unknown, and only as failed if it certainly was not', async () => {
    const { writer } = await begin();
    await writer.call(MAIL, async () => ({ text: 'not known', failed: true, isUnknown: true }));
    await writer.call({ ...MAIL, id: 'n' }, async () => ({ text: 'refused', failed: true }));
    expect(await lines()).toMatchObject([
      { state: 'failed', description: `It is not known whether this was executed: ${SENDING}` },
      { state: 'failed', description: SENDING },
    ]);
  });

  it('stays running while the next generation of the turn finds out its outcome', async () => {
    const { writer } = await sent();
    await writer.tool({
      callId: 't',
      content: { type: 'tool_status', tool: 'web_search_tool', description: '', state: 'running' },
    });
    await writer.nextGeneration(3);
    expect(await lines()).toMatchObject([{ state: 'running' }, { tool: 'web_search_tool', state: 'failed' }]);
  });

  it('has a line that the runtime cannot change with an event of the same id', async () => {
    const { writer } = await begin();
    await writer.call(MAIL, async () => ({ text: 'Sent.', failed: false }));
    await writer.tool({
      callId: MAIL.id,
      content: { type: 'tool_status', tool: 'x', description: 'Not sent', state: 'failed' },
    });
    expect((await lines())[0]).toMatchObject({ tool: 'send_mail', description: SENDING, state: 'completed' });
  });

  it('has a receipt that ends although the message was deleted while its request was sent', async () => {
    const { turn } = await sent();
    await world.user.delete(`${world.home.workspace}/messages/${turn.user_message_id}`, undefined, 204);
    const { uswarm, turnWorker } = world;
    await settleReceipts(turnWorker.stores, { withTransaction: createWithTransaction(uswarm.database) });
    expect(await receipts()).toMatchObject([{ status: 'unknown' }]);
  });

  describe('that a failed turn has sent', () => {
    async function failedAfterSending() {
      const { writer, turn } = await sent();
      await finishCall(writer, turn.id, 'Sent.');
      await writer.finish(FAILED);
      return turn;
    }

    it('is known to later turns of the conversation', async () => {
      const turn = await failedAfterSending();
      expect(await findCallsOfConversation(world.uswarm.database, turn.conversation_id, 10)).toMatchObject([
        { tool: 'send_mail', status: 'succeeded', arguments: '{"to": ["bob@example.com"]}' },
      ]);
      expect(await findCallsOfConversation(world.uswarm.database, turn.workspace_id, 10)).toEqual([]);
    });

    it('can be repeated by a turn that answers the same message again, but not by an answer to a new message', async () => {
      const turn = await failedAfterSending();
      const isRepeat = (messageId: string, id = turn.agent_id) =>
        hasSentSince(world.uswarm.database, { id, agentId: turn.agent_id, messageId });
      expect(await isRepeat(turn.user_message_id)).toBe(true);
      expect(await isRepeat(turn.user_message_id, turn.id)).toBe(false);
      expect(await isRepeat((await send('and?')).id)).toBe(false);
    });
  });
});
