import { describe, expect, it } from '@jest/globals';
import { fileIds, fileLine, type MessageParts, messageToText } from './message-to-text.js';

const id = '0193a0c4-5d1e-7b3c-9f00-000000000001';
const file = { id, type: 'image', name: 'a.png', mime_type: 'image/png', size: 3 } as const;
const line = `[attached: a.png, image/png, 3 bytes, id ${id}]`;

describe('what a model is told of a message', () => {
  it.each<[string, MessageParts, string]>([
    ['its text', { content: { type: 'text', text: 'hi' }, attachments: [] }, 'hi'],
    [
      'the names of what is attached',
      { content: { type: 'text', text: 'look' }, attachments: [file] },
      `look\n${line}`,
    ],
    ['these alone', { content: { type: 'text', text: '' }, attachments: [file] }, line],
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

describe('the files that a task names', () => {
  it('finds the ids in the lines that name files', () => {
    expect(
      fileIds(`Compare them.\n\nFiles:\n${fileLine(file)}\n${fileLine({ ...file, name: 'b, id 3].png' })}`),
    ).toEqual([id, id]);
  });

  it('finds no id outside such a line', () => {
    expect(fileIds(`The file with id ${id}, or [attached: ${id}]`)).toEqual([]);
  });
});
