import { describe, expect, it } from '@jest/globals';
import type { FileText } from '@uswarm/file-reader';
import { silentLogger } from '@uswarm/service-kit';
import type { FileContents, FileReading } from '../../turns/request/attached-files.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';
import { createAttachedTexts } from './attached-texts.js';

const ada = { conversationId: 'c', userId: 'ada' };

const file = (name: string, type: StoredFile['type'] = 'file'): StoredFile => ({
  id: name,
  name,
  type,
  mime_type: 'text/plain',
  size: 10,
});

const textOf = (...parts: string[]): FileText => ({
  kind: 'pages',
  parts: parts.map((text, index) => ({ label: `Page ${index + 1}`, text })),
  total: parts.length,
  truncated: false,
  scanned: [],
  notes: [],
});

async function textsOf(files: readonly StoredFile[], more: Partial<FileContents> = {}) {
  const read: { name: string; userId: string }[] = [];
  const contents: Pick<FileContents, 'text'> = {
    async text({ name }, { userId }) {
      read.push({ name, userId });
      return textOf(`text of ${name}`, 'second page');
    },
    ...more,
  };
  const texts = await createAttachedTexts(contents, async () => [...files], silentLogger)(ada);
  return { texts, read };
}

describe('the texts of attached files', () => {
  it('have all pages of each file, and are read for the user', async () => {
    expect(await textsOf([file('a.pdf'), file('b.pdf')])).toEqual({
      texts: ['text of a.pdf\nsecond page', 'text of b.pdf\nsecond page'],
      read: [
        { name: 'a.pdf', userId: 'ada' },
        { name: 'b.pdf', userId: 'ada' },
      ],
    });
  });

  it('leave out pictures, recordings and files that cannot be read', async () => {
    const text: FileContents['text'] = async ({ name }) =>
      name === 'locked.pdf' ? { problem: 'encrypted', message: 'A password is missing.' } : textOf(name);
    const files = [file('photo.jpg', 'image'), file('talk.mp3', 'audio'), file('locked.pdf'), file('a.pdf')];
    expect((await textsOf(files, { text })).texts).toEqual(['a.pdf']);
  });

  it('have the texts of other files when one cannot be read', async () => {
    const text: FileContents['text'] = ({ name }) =>
      name === 'a.pdf' ? Promise.reject(new Error('no storage')) : Promise.resolve(textOf(name));
    expect((await textsOf([file('a.pdf'), file('b.pdf')], { text })).texts).toEqual(['b.pdf']);
  });

  it('have the newest 20 files, and at most 500,000 characters', async () => {
    const many = Array.from({ length: 21 }, (_, index) => file(`${index}.pdf`));
    expect((await textsOf(many)).texts).toHaveLength(20);
    const text: FileContents['text'] = async () => textOf('x'.repeat(300_000));
    const { texts } = await textsOf(many, { text });
    expect(texts.map(({ length }) => length)).toEqual([300_000, 200_000]);
  });

  it('do not wait longer than two seconds for a file', async () => {
    const begun = performance.now();
    const text = (_file: StoredFile, { signal }: FileReading): Promise<FileText> =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    expect((await textsOf([file('slow.pdf'), file('b.pdf')], { text })).texts).toEqual([]);
    expect(performance.now() - begun).toBeLessThan(10_000);
  });
});
