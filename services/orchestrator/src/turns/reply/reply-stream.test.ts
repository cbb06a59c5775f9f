import { describe, expect, it } from '@jest/globals';
import { createReplyStream, type ReplyStreamDeps } from './reply-stream.js';

function streamed(turn: Partial<ReplyStreamDeps['turn']> = {}) {
  const published: string[] = [];
  const row = { task_depth: null, reply_message_id: 'r' as string | null, ...turn };
  const stream = createReplyStream(
    {
      turn: row,
      writer: {
        async showReply() {
          row.reply_message_id = 'another';
          return { replyId: 'another', seq: 9 };
        },
      },
      publish: ({ messageId, text, offset }) => void published.push(`${messageId} ${offset} ${text}`),
    },
    'r',
  );
  return { stream, published, row };
}

describe('the stream of a reply', () => {
  it('begins with the first text that a user sees, and contains the blanks before it', async () => {
    const { stream, published } = streamed();
    await stream.show('\n', '\n');
    await stream.show('\n \u200B', ' \u200B');
    expect(published).toEqual([]);
    await stream.show('\n \u200BYes', 'Yes');
    stream.flush();
    expect(published).toEqual(['r 0 \n \u200BYes']);
  });

  it('continues after a text that another process has published, and repeats blanks', async () => {
    const text = streamed();
    text.stream.begin('Yes', 4);
    await text.stream.show('Yes, no', ', no');
    expect(text.published).toEqual(['r 3 , no']);
    const blank = streamed();
    blank.stream.begin('\n', 4);
    await blank.stream.show('\nYes', 'Yes');
    expect(blank.published).toEqual(['r 0 \nYes']);
  });

  it('is that of another reply if a card has taken the place of the first one', async () => {
    const { stream, published, row } = streamed();
    await stream.show('\n', '\n');
    row.reply_message_id = null;
    expect(await stream.show('\nYes', 'Yes')).toBe(9);
    expect(await stream.show('\nYes.', '.')).toBeUndefined();
    stream.flush();
    expect(published).toEqual(['another 0 \nYes', 'another 4 .']);
  });

  it('is whole in another reply, also if a part was retracted from the first one', async () => {
    const { stream, published, row } = streamed();
    await stream.show('\nAbc', '\nAbc');
    await stream.show('\n', '', 1);
    stream.flush();
    row.reply_message_id = null;
    await stream.show('\nYes', 'Yes');
    stream.flush();
    expect(published.at(-1)).toBe('another 0 \nYes');
  });

  it('shows nothing of a task', async () => {
    const { stream, published } = streamed({ task_depth: 1, reply_message_id: null });
    expect(await stream.show('Yes', 'Yes')).toBeUndefined();
    expect(published).toEqual([]);
  });
});
