import { describe, expect, it } from '@jest/globals';
import type { FileProblem, FileText, Picture } from '@uswarm/file-reader';
import { Recording } from '@uswarm/runtime-proto';
import { attachedFiles, type FileContents, type Transcripts } from './attached-files.js';
import type { HistoryRow } from './history.store.js';
import { filesOnly, type StoredFile } from './message-to-text.js';

const signal = new AbortController().signal;
const SEES = { images: true, window: 128_000 };
const BLIND = { ...SEES, images: false };
const SMALL = { ...SEES, window: 8_000 };

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

const TURN = { id: 't', workspace_id: 'w' };

/** Transcripts by file name. */
function heard(texts: Record<string, FileText | FileProblem> = {}): Transcripts & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async read({ id }) {
      const name = id.replace('id of ', '');
      asked.push(name);
      return texts[name] ?? textOf(`words in ${name}`);
    },
  };
}

async function shown(
  rows: readonly HistoryRow[],
  from: FileContents,
  model = SEES,
  withinMs = 60_000,
  transcripts: Transcripts = heard(),
) {
  const answered = rows.slice(0, 1).map(({ id }) => id);
  const { files, problems, isComplete } = await attachedFiles(rows, from, transcripts, {
    turn: TURN,
    answered,
    ...model,
    withinMs,
    recordingsWithinMs: withinMs,
    userId: 'ada',
    signal,
  });
  const list = [...files].flatMap(([message, ofMessage]) =>
    ofMessage.map(({ name, text, pictures, recording }) => ({
      message,
      name,
      text,
      pictures: pictures.length,
      ...(recording === Recording.UNSPECIFIED ? {} : { recording: Recording[recording] }),
    })),
  );
  return { list, problems, isComplete };
}

describe('the attached files in a request', () => {
  it('gives a file its text, or its picture', async () => {
    const { list } = await shown([row('m1', [file('a.txt'), photo])], contents());
    expect(list).toEqual([
      { message: 'm1', name: 'a.txt', text: expect.stringContaining('text of a.txt'), pictures: 0 },
      { message: 'm1', name: 'photo.jpg', text: '', pictures: 1 },
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

  it('reports nothing for a file of an earlier message, and nothing that passes', async () => {
    const rows = [row('m3', []), row('m2', [file('b.pdf')])];
    expect((await shown(rows, contents({ text: async () => encrypted }))).problems).toEqual([]);
    const busy: FileProblem = { problem: 'busy', message: 'Try again.' };
    const { problems } = await shown([row('m1', [file('a.pdf')])], contents({ text: async () => busy }));
    expect(problems).toEqual([]);
  });

  it('does not wait for a file that takes long, and offers to read it later', async () => {
    const text: FileContents['text'] = (_file, { signal: patience }) =>
      new Promise((_resolve, reject) => patience.addEventListener('abort', () => reject(patience.reason as Error)));
    const { list, isComplete } = await shown([row('m1', [file('slow.pdf')])], contents({ text }), SEES, 1);
    expect({ list, isComplete }).toEqual({
      list: [expect.objectContaining({ text: expect.stringContaining('Use read_file') })],
      isComplete: false,
    });
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

  it('leaves out videos, files of agents, and files of messages before the last ten', async () => {
    const from = contents();
    const rows = [
      row('m20', [file('talk.mp4', 'video')]),
      row('m19', [file('report.docx')], 'agent'),
      ...Array.from({ length: 12 }, (_, index) => row(`m${18 - index}`, [file(`${index}.txt`)])),
    ];
    await shown(rows, from);
    expect(from.read).toEqual(Array.from({ length: 9 }, (_, index) => `${index}.txt`));
  });
});

describe('a recording in a request', () => {
  const memo = file('memo.m4a', 'audio');
  const hear = (rows: readonly HistoryRow[], transcripts: Transcripts, model = SEES, withinMs?: number) =>
    shown(rows, contents(), model, withinMs, transcripts);

  it('is the user’s message if the message has no other text', async () => {
    const spoken = { ...row('m1', [memo]), text: filesOnly([memo]) };
    expect((await hear([spoken], heard())).list).toEqual([
      {
        message: 'm1',
        name: 'memo.m4a',
        text: expect.stringContaining('words in memo.m4a'),
        pictures: 0,
        recording: 'MESSAGE',
      },
    ]);
    expect((await hear([row('m1', [memo])], heard())).list).toMatchObject([{ recording: 'ATTACHED' }]);
  });

  it('is not sent for later messages if it was not transcribed earlier, because it costs something', async () => {
    const transcripts = heard();
    const known = { ...file('known.ogg', 'audio'), transcript: 'words' };
    const rows = [row('m3', []), row('m2', [known]), row('m1', [memo])];
    const { list } = await hear(rows, transcripts);
    expect({ asked: transcripts.asked, list }).toEqual({
      asked: ['known.ogg'],
      list: [
        expect.objectContaining({ text: expect.stringContaining('words in known.ogg') }),
        expect.objectContaining({ text: 'A recording that was not transcribed. Use read_file.' }),
      ],
    });
  });

  it('stays in the request after ten messages with files, as what the user has typed does', async () => {
    const known = { ...memo, transcript: 'words' };
    const rows = [
      ...Array.from({ length: 12 }, (_, index) => row(`m${18 - index}`, [file(`${index}.txt`)])),
      row('m1', [known, file('old.txt')]),
    ];
    const { list } = await hear(rows, heard());
    expect(list.filter(({ message }) => message === 'm1')).toMatchObject([{ name: 'memo.m4a', recording: 'ATTACHED' }]);
  });

  it('is shown in part if it is long, with the offset of the rest', async () => {
    const { list } = await hear([row('m1', [memo])], heard({ 'memo.m4a': textOf('word '.repeat(20_000)) }));
    expect(list[0]?.text.length).toBeLessThan(21_000);
    expect(list[0]?.text).toContain('offset');
  });

  it('is reported to the agent and the user if it cannot be transcribed', async () => {
    const silent: FileProblem = { problem: 'empty', message: 'No speech was recognized in it.' };
    const { list, problems } = await hear([row('m1', [memo])], heard({ 'memo.m4a': silent }));
    expect({ list, problems }).toEqual({
      list: [{ message: 'm1', name: 'memo.m4a', text: 'Cannot be read: No speech was recognized in it.', pictures: 0 }],
      problems: [{ file: memo, message: 'No speech was recognized in it.' }],
    });
  });

  it('is not waited for longer than a turn can', async () => {
    const read: Transcripts['read'] = (_file, _turn, patience) =>
      new Promise((_resolve, reject) => patience.addEventListener('abort', () => reject(patience.reason as Error)));
    const { list, isComplete } = await hear([row('m1', [memo])], { read }, SEES, 1);
    expect({ list, isComplete }).toMatchObject({
      list: [{ text: expect.stringContaining('Use read_file') }],
      isComplete: false,
    });
  });
});
