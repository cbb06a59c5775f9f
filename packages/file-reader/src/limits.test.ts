import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  compound,
  docx,
  encryptedOffice,
  encryptedZip,
  file,
  mail,
  openDocument,
  pdf,
  pptx,
  workbook,
  zip,
} from '../test/files.js';
import { buildProgram } from '../test/program.js';
import { createFileReader, type FileReader, type FileSource, type FileText } from './index.js';

const { signal } = new AbortController();
const limits = { timeMs: 120_000, longTimeMs: 120_000 };
const good = file('good.txt', 'This is fine.');

let program: URL;
let reader: FileReader;
let cleanUp: () => void;

beforeAll(async () => {
  const built = await buildProgram();
  program = built.program;
  cleanUp = built.remove;
  reader = createFileReader({ program, processes: 2, limits });
});

afterAll(async () => {
  await expectNextFile(reader);
  await reader.close();
  cleanUp();
});

async function expectNextFile(of: FileReader): Promise<void> {
  expect(await of.text(good, signal)).toMatchObject({ kind: 'text', parts: [{ text: 'This is fine.' }] });
}

const half = (bytes: Uint8Array) => bytes.subarray(0, Math.floor(bytes.length / 2));
const noise = Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 7919 + (index >> 3)) & 0xff));
const laughs =
  '<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY a "&lol;&lol;&lol;&lol;"><!ENTITY b SYSTEM "file:///etc/passwd">]>';
const word = (xml: string) =>
  zip({
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    '_rels/.rels':
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
    'word/document.xml': xml,
  });

/** Claims that the content is smaller than it is. */
function lyingZip(): Buffer {
  const bytes = zip({ 'word/document.xml': 'x'.repeat(100_000) });
  const directory = bytes.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
  bytes.writeUInt32LE(10, directory + 24);
  return bytes;
}

type Fault = [title: string, source: () => FileSource | Promise<FileSource>, problem: string, message: string | RegExp];

const faults: Fault[] = [
  ['an empty file', () => file('a.pdf', ''), 'empty', 'The file is empty.'],
  ['random bytes', () => file('a.txt', noise), 'unsupported', /no text that can be read/],
  ['random bytes named .docx', () => file('a.docx', noise), 'unsupported', /\(\.docx\) have no text/],
  [
    'a video',
    () => file('a.mp4', Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isommp42', 'latin1')),
    'unsupported',
    /\(\.mp4\)/,
  ],

  [
    'an encrypted PDF',
    async () => file('a.pdf', await pdf(['x'], { userPassword: 'p' })),
    'encrypted',
    'The PDF is protected by a password.',
  ],
  [
    'a truncated PDF',
    async () => file('a.pdf', (await pdf(['x'])).subarray(0, 200)),
    'corrupt',
    'The PDF is damaged and cannot be read.',
  ],
  [
    'a PDF of noise',
    () => file('a.pdf', Buffer.concat([Buffer.from('%PDF-1.7\n'), noise])),
    'corrupt',
    /^The PDF is damaged/,
  ],
  [
    'a PDF without text or pictures',
    async () => file('a.pdf', Buffer.from('%PDF-1.4 nothing')),
    'corrupt',
    /^The PDF is damaged/,
  ],

  [
    'an encrypted workbook',
    () => file('a.xlsx', encryptedOffice()),
    'encrypted',
    'The spreadsheet is protected by a password.',
  ],
  [
    'an encrypted Word document',
    () => file('a.docx', encryptedOffice()),
    'encrypted',
    'The document is protected by a password.',
  ],
  [
    'a Word document with encrypted entries',
    () => file('a.docx', encryptedZip()),
    'encrypted',
    /protected by a password/,
  ],
  [
    'a truncated Word document',
    async () => file('a.docx', half(await docx())),
    'corrupt',
    'The document is damaged and cannot be read.',
  ],
  [
    'a truncated workbook',
    () => file('a.xlsx', half(workbook('xlsx'))),
    'corrupt',
    'The spreadsheet is damaged and cannot be read.',
  ],
  [
    'a truncated presentation',
    async () => file('a.pptx', half(await pptx())),
    'corrupt',
    /^The presentation is damaged/,
  ],
  [
    'a truncated old workbook',
    () => file('a.xls', workbook('biff8').subarray(0, 1_000)),
    'corrupt',
    /^The spreadsheet is damaged/,
  ],
  [
    'an old Word document',
    () => file('a.doc', compound('WordDocument')),
    'unsupported',
    /^The file is a Word document in the format before 2007/,
  ],
  [
    'an old presentation',
    () => file('a.ppt', compound('PowerPoint Document')),
    'unsupported',
    /Save it as \.pptx or PDF\.$/,
  ],
  ['a Word document with broken XML', () => file('a.docx', word('<w:document><w:body>')), 'corrupt', /damaged/],
  [
    'a slide show with entities',
    () => file('a.pptx', zip({ 'ppt/presentation.xml': `${laughs}<p>&a;</p>` })),
    'corrupt',
    /damaged/,
  ],
  [
    'an OpenDocument text with external entities',
    () => file('a.odt', openDocument('text', '<text:p>&b;</text:p>', laughs)),
    'corrupt',
    /damaged/,
  ],
  [
    'an encrypted OpenDocument text',
    () =>
      file(
        'a.odt',
        zip({
          mimetype: 'application/vnd.oasis.opendocument.text',
          'META-INF/manifest.xml': '<m><encryption-data/></m>',
          'content.xml': 'x',
        }),
      ),
    'encrypted',
    /password/,
  ],
  [
    'a book without a description',
    () => file('a.epub', zip({ mimetype: 'application/epub+zip' })),
    'corrupt',
    /damaged/,
  ],
  [
    'a copy-protected book',
    () => file('a.epub', protectedBook()),
    'encrypted',
    'The book is protected against copying.',
  ],
  ['an archive without files', () => file('a.zip', zip({})), 'empty', 'The archive has no files.'],
  [
    'a truncated archive',
    () => file('a.zip', half(zip({ a: noise }))),
    'corrupt',
    'The archive is damaged and cannot be read.',
  ],
  ['a truncated gzip file', () => file('a.gz', half(gzipSync(noise))), 'corrupt', /^The archive is damaged/],

  [
    'a ZIP bomb',
    () => file('a.docx', word(' '.repeat(8_000_000))),
    'too_large',
    'The document is too large after decompression.',
  ],
  ['an entry that is larger than it claims', () => file('a.docx', lyingZip()), 'corrupt', /damaged/],
  [
    'a deeply nested Word document',
    () =>
      file(
        'a.docx',
        word(
          `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${'<w:tbl><w:tr><w:tc>'.repeat(20_000)}${'</w:tc></w:tr></w:tbl>'.repeat(20_000)}</w:body></w:document>`,
        ),
      ),
    'too_large',
    'The document is nested too deeply.',
  ],
];

function protectedBook(): Buffer {
  const encryption =
    '<encryption><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></encryption>';
  return zip({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': '<container><rootfile full-path="p.opf"/></container>',
    'META-INF/encryption.xml': encryption,
    'p.opf': '<package/>',
  });
}

describe('a file with a fault', () => {
  it.each(faults)('reports %s', async (_, source, problem, message) => {
    const result = await reader.text(await source(), signal);
    expect(result).toEqual({ problem, message: expect.stringMatching(message) });
  });

  it.each([
    ['a text', () => file('a.png', 'text'), 'unsupported'],
    ['a drawing as text', () => file('a.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>'), 'unsupported'],
    ['a truncated picture', () => file('a.png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')), 'corrupt'],
    ['a picture of 2,500 megapixels', () => file('a.png', hugePicture()), 'too_large'],
  ] as const)('shows no picture of %s', async (_, source, problem) => {
    expect(await reader.picture(source(), signal)).toMatchObject({ problem });
  });

  it('reads no file outside, whatever names an archive has', async () => {
    const listed = await reader.text(
      file('../../etc/passwd\0.zip', zip({ '/etc/passwd': 'x', '..\\..\\a': 'y' })),
      signal,
    );
    expect(listed).toMatchObject({ kind: 'listing', total: 2 });
  });

  it('reads a damaged PDF as far as it goes', async () => {
    const bytes = await pdf(['One', 'Two']);
    const start = bytes.lastIndexOf('startxref');
    bytes.fill('0', start + 10, start + 12);
    expect(await reader.text(file('a.pdf', bytes), signal)).toMatchObject({ total: 2 });
  });

  it('reads mails in mails to a fixed depth', async () => {
    const text = (await reader.text(file('a.eml', mail(6)), signal)) as FileText;
    expect(text.parts.map(({ label }) => label)).toEqual([
      '',
      ...[5, 4, 3].map((n) => `Attached mail "Grüße ${n}"`),
      '',
    ]);
    expect(text.parts.at(-1)?.text).toMatch(/nested too deeply/);
  });

  it('reads a page with many nested elements', async () => {
    const html = `<html><p>Start</p>${'<div>'.repeat(100_000)}`;
    expect(await reader.text(file('a.html', html), signal)).toMatchObject({
      parts: [{ text: expect.stringContaining('Start') }],
    });
  });

  it('stops decompressing an archive that is too large', async () => {
    const bytes = gzipSync(Buffer.alloc(150 * 1024 * 1024));
    expect(await reader.text(file('a.gz', bytes), signal)).toMatchObject({ kind: 'listing', truncated: true });
  });
});

function hugePicture(): Buffer {
  const chunk = (name: string, content: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(content.length);
    const named = Buffer.concat([Buffer.from(name), content]);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, sum]);
  };
  const header = Buffer.from('0000c3500000c3500802000000', 'hex');
  const start = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    start,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(100))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

describe('limits', () => {
  const withLimits = async <T>(
    own: Parameters<typeof createFileReader>[0],
    use: (of: FileReader) => Promise<T>,
  ): Promise<T> => {
    const of = createFileReader({ program, ...own });
    try {
      return await use(of);
    } finally {
      await of.close();
    }
  };

  it('refuses a file of 300 MB without reading it', async () => {
    const never = (): AsyncIterable<Uint8Array> => ({
      [Symbol.asyncIterator]() {
        throw new Error('was read');
      },
    });
    const huge = { name: 'a.pdf', type: '', bytes: never(), size: 300_000_000 };
    expect(await reader.text(huge, signal)).toEqual({
      problem: 'too_large',
      message: 'The file is larger than 100 MiB.',
    });
  });

  it('refuses a stream that is longer than its size', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield Buffer.alloc(1000, 'a');
    }
    const source = { name: 'a.txt', type: '', bytes: endless(), size: 5_000 };
    expect(await reader.text(source, signal)).toMatchObject({ problem: 'too_large' });
  });

  it('ends a job whose stream hangs when the signal is aborted', async () => {
    const hanging = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) };
    const abort = new AbortController();
    const job = reader.text({ name: 'a.txt', type: '', bytes: hanging, size: 5_000 }, abort.signal);
    setTimeout(() => abort.abort(new Error('the turn ended')), 50);
    await expect(job).rejects.toThrow('the turn ended');
  });

  it('rejects with the error of the stream', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      throw new Error('storage is unavailable');
    }
    const source = { name: 'a.txt', type: '', bytes: failing(), size: 5_000 };
    await expect(reader.text(source, signal)).rejects.toThrow('storage is unavailable');
    await expectNextFile(reader);
  });

  it('stops a file that takes too much memory', async () => {
    await withLimits({ limits: { ...limits, memoryBytes: 160 * 1024 * 1024 } }, async (of) => {
      const text = file('a.txt', Buffer.alloc(80 * 1024 * 1024, 'abc '));
      expect(await of.text(text, signal)).toEqual({
        problem: 'too_much_memory',
        message: 'Reading the file needs too much memory.',
      });
      await expectNextFile(of);
    });
  });

  it('cuts text at the limit of characters', async () => {
    await withLimits({ limits: { ...limits, characters: 10 } }, async (of) => {
      expect(await of.text(file('a.txt', 'x'.repeat(20)), signal)).toMatchObject({
        truncated: true,
        parts: [{ text: 'x'.repeat(10) }],
      });
    });
  });

  it('refuses files when the queue is full', async () => {
    await withLimits({ limits, processes: 1, queue: 1 }, async (of) => {
      const results = await Promise.all([of.text(good, signal), of.text(good, signal), of.text(good, signal)]);
      expect(results.map((each) => ('problem' in each ? each.problem : each.kind))).toEqual(['text', 'text', 'busy']);
    });
  });

  it('delays the file of one owner by one file of another, who has filled the queue', async () => {
    const order: string[] = [];
    const opened = async function* (name: string): AsyncGenerator<Uint8Array> {
      order.push(name);
      yield Buffer.from('a');
    };
    const fileOf = (owner: string): FileSource => ({ name: 'a.txt', type: '', owner, bytes: opened(owner), size: 1 });
    await withLimits({ limits, processes: 1 }, async (of) => {
      const large = Array.from({ length: 50 }, () => of.text(fileOf('large'), signal).catch(() => undefined));
      expect(await of.text(fileOf('small'), signal)).toMatchObject({ kind: 'text' });
      expect(order.slice(0, 2)).toEqual(['large', 'small']);
      await of.close();
      await Promise.all(large);
    });
  });

  it('rejects with the reason of the signal, in the queue and in the process', async () => {
    await withLimits({ limits, processes: 1 }, async (of) => {
      const abort = new AbortController();
      const both = [of.text(good, abort.signal), of.text(good, abort.signal)];
      abort.abort(new Error('the turn ended'));
      for (const each of both) await expect(each).rejects.toThrow('the turn ended');
      await expectNextFile(of);
    });
  });

  it('kills its process when it is closed', async () => {
    const of = createFileReader({ program, limits });
    const job = of.text(good, signal);
    await Promise.all([expect(job).rejects.toThrow('The reader of files is closed.'), of.close()]);
    await expect(of.text(good, signal)).rejects.toThrow('The reader of files is closed.');
  });
});

describe('a process that misbehaves', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'file-reader-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const run = async (code: string, own: Partial<typeof limits> = {}) => {
    const path = join(folder, `${Math.random()}.mjs`);
    writeFileSync(path, code);
    const exits: string[] = [];
    const of = createFileReader({
      program: pathToFileURL(path),
      limits: { ...limits, characters: 1_000, ...own },
      onCrash: ({ exit }) => exits.push(exit),
    });
    const result = await of.text(good, signal);
    await of.close();
    return { result, exits };
  };

  it('is killed when it takes too long', async () => {
    const { result } = await run('for (;;);', { timeMs: 300 });
    expect(result).toEqual({ problem: 'too_slow', message: 'Reading the file takes too long.' });
  });

  it('gets a longer time once, for many pages', async () => {
    const answer = JSON.stringify({ header: { frame: 'long' }, bodies: [] });
    const write = `const j=Buffer.from(${JSON.stringify(answer)});const l=Buffer.alloc(4);l.writeUInt32BE(j.length);`;
    const { result } = await run(`${write}setInterval(()=>process.stdout.write(Buffer.concat([l,j])),50)`, {
      timeMs: 200,
      longTimeMs: 700,
    });
    expect(result).toMatchObject({ problem: 'too_slow' });
  });

  it.each([
    ['aborts', 'process.abort()', 'SIGABRT'],
    ['exits', 'process.exit(3)', 'code 3'],
    ['has no answer', 'process.exit(0)', 'code 0'],
    ['writes garbage', "process.stdout.write('garbage'.repeat(100));setInterval(()=>{},1000)", 'SIGKILL'],
    ['announces too much', 'process.stdout.write(Buffer.alloc(4,255));setInterval(()=>{},1000)', 'SIGKILL'],
  ])('is a problem of the file when it %s', async (_, code, exit) => {
    expect(await run(code)).toEqual({
      result: { problem: 'corrupt', message: 'The file is damaged and cannot be read.' },
      exits: [exit],
    });
  });

  it('has no environment, and cannot read files, start processes or write', async () => {
    const attempts = `
      import { readFileSync, writeFileSync } from 'node:fs';
      import { spawnSync } from 'node:child_process';
      import { Worker } from 'node:worker_threads';
      const denied = [
        () => readFileSync('/etc/passwd'), () => writeFileSync('/tmp/x', ''),
        () => spawnSync('ls'), () => new Worker('', { eval: true }), () => new Function('1')(),
      ].map((attempt) => { try { attempt(); return 'allowed'; } catch (error) { return error.code ?? error.name; } });
      const text = JSON.stringify({ denied, env: Object.keys(process.env) });
      const json = Buffer.from(JSON.stringify({ header: { frame: 'problem', problem: { problem: 'corrupt', message: text } }, bodies: [] }));
      const length = Buffer.alloc(4); length.writeUInt32BE(json.length);
      process.stdout.write(Buffer.concat([length, json]));`;
    const { result } = await run(attempts);
    expect(JSON.parse((result as { message: string }).message)).toEqual({
      denied: ['ERR_ACCESS_DENIED', 'ERR_ACCESS_DENIED', 'ERR_ACCESS_DENIED', 'ERR_ACCESS_DENIED', 'EvalError'],
      env: [],
    });
  });
});
