import { describe, expect, it } from '@jest/globals';
import { type MessageParts, messageToText } from './message-to-text.js';

const file = { name: 'a.png', mime_type: 'image/png', size: 3 };

describe('what a model is told of a message', () => {
  it.each<[string, MessageParts, string]>([
    ['its text', { content: { type: 'text', text: 'hi' }, attachments: [] }, 'hi'],
    [
      'the names of what is attached',
      { content: { type: 'text', text: 'look' }, attachments: [file] },
      'look\n[attached: a.png, image/png, 3 bytes]',
    ],
    [
      'these alone',
      { content: { type: 'text', text: '' }, attachments: [file] },
      '[attached: a.png, image/png, 3 bytes]',
    ],
    [
      'a card, read out',
      {
        content: {
          type: 'action_card',
          title: 'Which?',
          description: '',
          actions: [{ id: 'a', label: 'This', style: 'primary' }],
        },
        attachments: [],
      },
      'Which?\n- This',
    ],
    ['nothing else', { content: { type: 'loading' }, attachments: [] }, ''],
  ])('%s', (_what, parts, text) => {
    expect(messageToText(parts)).toBe(text);
  });
});
