import { describe, expect, it } from '@jest/globals';
import type { FileProblem, FileText, Picture } from '@uswarm/file-reader';
import type { ModelLimits } from '../../platform/core/models.js';
import { attachedFiles, type FileContents } from './attached-files.js';
import type { HistoryRow } from './history.store.js';
import type { StoredFile } from './message-to-text.js';

const signal = new AbortController().signal;
const SEES: ModelLimits = {
  context_window: 128_000,
  max_output_tokens: 4_000,
  capabilities: { images: true },
} as ModelLimits;
const BLIND = { ...SEES, capabilities: { ...SEES.capabilities, images: false } };
const SMALL = { ...SEES, context_window: 8_000 };

const file = (name: string, type: StoredFile['type'] = 'file'): StoredFile => ({
  id: `id of ${name}`,
  name,
  type,
  mime_type: type === 'image' ? 'image/jpeg' : 'text/plain',
  size: 10,
});
const photo = file('photo.jpg', 'image');

const row = (id: string, attachments: readonly StoredFile[], role: HistoryRow['role'] = 'user'): HistoryRow => ({
  id,
  role,
  agent_id: null,
  text: id,
  ...(attachments.length === 0 ? {} : { attachments }),
});

const picture = (bytes = 100): Picture => ({ type: 'image/jpeg', bytes: new Uint8Array(bytes), width: 1, height: 1 });

const textOf = (text: string, more: Partial<FileText> = {}): FileText => ({
  kind: 'text',
  parts: [{ label: '', text }],
  total: 1,
  truncated: false,
  scanned: [],
  notes: [],
  ...more,
});

const encrypted: FileProblem = { problem: 'encrypted', message: 'The PDF is protected by a password.' };

/** Files whose content is their name. */
function contents(more: Partial<FileContents> = {}): FileContents & { read: string[] } {
  const read: string[] = [];
  return {
    read,
    async text({ name }) {
      read.push(name);
      return textOf(`text of ${name}`);
    },
    async picture({ name }) {
      read.push(name);
      return picture();
    },
    pages: async (_file, numbers) => numbers.map(() => picture()),
    ...more,
  };
}

async function shown(rows: readonly HistoryRow[], from: FileContents, limits: ModelLimits | null = SEES) {
  const { files, problems } = await attachedFiles(rows, from, { limits, signal });
  const list = [...files].flatMap(([message, ofMessage]) =>
    ofMessage.map(({ name, text, pictures }) => ({ message, name, text, pictures: pictures.length })),
  );
  return { list, problems };
}

describe('the attached files in a request', () => {
  it('gives a file its text, or its picture', async () => {
    const { list } = await shown([row('m1', [file('a.txt'), photo])], contents());
    expect(list).toEqual([
      { message: 'm1', name: 'a.txt', text: expect.stringContaining('text of a.txt'), pictures: 0 },
      { message: 'm1', name: 'photo.jpg', text: '', pictures: 1 },
    ]);
  });

  it('sends a picture to a model whose limits are unknown', async () => {
    expect((await shown([row('m1', [photo])], contents(), null)).list).toEqual([
      expect.objectContaining({ pictures: 1 }),
    ]);
  });

  it('reads no picture for a model that does not see pictures', async () => {
    const from = contents();
    const { list } = await shown([row('m1', [photo])], from, BLIND);
    expect({ list, read: from.read }).toEqual({
      list: [expect.objectContaining({ text: expect.stringContaining('cannot see pictures'), pictures: 0 })],
      read: [],
    });
  });

  it('sends pages without text as pictures', async () => {
    const scan = textOf('', { kind: 'pages', total: 9, scanned: [1, 2, 3, 4, 5, 6, 7, 8, 9] });
    const { list } = await shown([row('m1', [file('scan.pdf')])], contents({ text: async () => scan }));
    expect(list).toEqual([expect.objectContaining({ name: 'scan.pdf', pictures: 4 })]);
  });

  it('tells why a file cannot be read, and reports it for the newest message only', async () => {
    const from = contents({ text: async () => encrypted });
    const rows = [row('m2', [file('b.pdf')]), row('m1', [file('a.pdf')])];
    const { list, problems } = await shown(rows, from);
    expect(list.map(({ text }) => text)).toEqual(Array(2).fill(`Cannot be read: ${encrypted.message}`));
    expect(problems).toEqual([{ file: file('b.pdf'), message: encrypted.message }]);
  });

  it('shares the room, so that a long file does not hide a short one', async () => {
    const from = contents({
      text: async ({ name }) => textOf(name === 'book.txt' ? 'word '.repeat(50_000) : 'short'),
    });
    const { list } = await shown([row('m1', [file('book.txt'), file('note.txt')])], from, SMALL);
    expect(list.map(({ text }) => text.length <= 3_000)).toEqual([true, true]);
    expect(list.at(-1)?.text.trim()).toBe('short');
  });

  it('sends at most eight pictures, those of the newest messages', async () => {
    const rows = [row('m2', Array(6).fill(photo)), row('m1', Array(6).fill(photo))];
    const { list } = await shown(rows, contents());
    const count = (id: string) => list.filter(({ message, pictures }) => message === id && pictures > 0).length;
    expect({ newest: count('m2'), earlier: count('m1') }).toEqual({ newest: 6, earlier: 2 });
  });

  it('leaves out recordings, files of agents, and files of messages before the last ten', async () => {
    const from = contents();
    const rows = [
      row('m20', [file('talk.mp3', 'audio')]),
      row('m19', [file('report.docx')], 'agent'),
      ...Array.from({ length: 12 }, (_, index) => row(`m${18 - index}`, [file(`${index}.txt`)])),
    ];
    await shown(rows, from);
    expect(from.read).toEqual(Array.from({ length: 9 }, (_, index) => `${index}.txt`));
  });
});
