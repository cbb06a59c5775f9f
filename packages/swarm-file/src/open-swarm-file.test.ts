import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createReceiptSigner, generateCallKeys, receiptJwk } from '@uswarm/service-kit';
import { strToU8, type ZipOptions, type Zippable, zipSync } from 'fflate';
import { jsonLines } from './lines.js';
import { FORMAT, KEYS_PATH, type Member, REQUIRED_PATHS } from './manifest.js';
import { openRemoteSwarmFile, openSwarmFile, type SwarmFile } from './open-swarm-file.js';
import type { SwarmFileError } from './problem.js';
import { type Content, sealed } from './seal.js';

const signer = createReceiptSigner(generateCallKeys().privateKey);
const other = createReceiptSigner(generateCallKeys().privateKey);
const FILE = 'files/01931a5e-7c00-7000-8000-000000000007';
const KEYS = JSON.stringify({ keys: [receiptJwk(signer)] });
const TEXTS: Record<string, string> = {
  ...Object.fromEntries(REQUIRED_PATHS.map((name) => [name, name === KEYS_PATH ? KEYS : '{"id":1}\n'])),
  [FILE]: 'tea, bread, marmalade\n'.repeat(100),
};
const ABOUT = { created_at: '2026-11-20T08:30:00.000Z', workspace_id: '01931a5e-7c00-7000-8000-000000000001' };

const member = (name: string, content: string): Member => ({
  path: name,
  size: Buffer.byteLength(content),
  sha256: createHash('sha256').update(content).digest('hex'),
});

/** All members, as an installation writes them. */
async function exported(texts = TEXTS): Promise<Record<string, Buffer>> {
  async function* contents(): AsyncGenerator<Content> {
    for (const [name, content] of Object.entries(texts)) {
      yield { path: name, compress: true, open: async () => Readable.from([Buffer.from(content)]) };
    }
  }
  const members: Record<string, Buffer> = {};
  for await (const { path: name, open } of sealed(contents(), ABOUT, signer))
    members[name] = await buffer(await open());
  return members;
}

/** A file whose maker can sign. */
async function forged(texts: Record<string, string>, manifest: Record<string, unknown> = {}): Promise<Zippable> {
  const members = Object.entries(texts).map(([name, content]) => member(name, content));
  const bytes = Buffer.from(JSON.stringify({ ...FORMAT, ...ABOUT, members, ...manifest }));
  const all = { ...texts, 'manifest.json': bytes.toString(), 'manifest.jws': await signer.signManifest(bytes) };
  return Object.fromEntries(Object.entries(all).map(([name, content]) => [name, strToU8(content)]));
}

const READER = `
  import { openSwarmFile } from ${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)};
  await openSwarmFile(process.argv[1]).catch(({ problem }) => process.stdout.write(problem));`;

/** Opens a file in a process with little memory. @returns why it is refused; empty if the process died */
function openedElsewhere(name: string): Promise<string> {
  const options = ['--max-old-space-size=64', '--input-type=module', '--eval', READER, name];
  return text(spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'ignore'] }).stdout);
}

describe('a .uswarm file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-swarm-file-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function withFile<Result>(bytes: Uint8Array, use: (file: SwarmFile) => Promise<Result>): Promise<Result> {
    const name = path.join(folder, 'w.uswarm');
    await writeFile(name, bytes);
    const file = await openSwarmFile(name);
    try {
      return await use(file);
    } finally {
      file.close();
    }
  }
  const refusal = (bytes: Uint8Array, use: (file: SwarmFile) => Promise<unknown> = async () => undefined) =>
    withFile(bytes, use).then(
      () => undefined,
      ({ problem, message }: SwarmFileError) => `${problem}: ${message}`,
    );

  it('is read as it was written, and is signed by its installation', async () => {
    await withFile(zipSync(await exported()), async (file) => {
      expect(file.manifest).toMatchObject(ABOUT);
      expect(file.manifest.members).toEqual(Object.entries(TEXTS).map(([name, content]) => member(name, content)));
      expect(await file.verifySignature([other, signer])).toBe(signer.kid);
      for (const [name, content] of Object.entries(TEXTS)) expect(await text(await file.open(name))).toBe(content);
    });
  });

  it('carries the keys with which it verifies', async () => {
    const kid = await withFile(zipSync(await exported()), (file) => file.verifySignature(file.keys));
    expect(kid).toBe(signer.kid);
  });

  it('is refused with other keys', async () => {
    const problem = await refusal(zipSync(await exported()), (file) => file.verifySignature([other]));
    expect(problem).toBe(`signature_invalid: the key ${signer.kid} is unknown`);
  });

  it('is refused if its manifest was changed', async () => {
    const members = await exported();
    const manifest = Buffer.from(members['manifest.json']!.toString().replace('08:30', '08:31'));
    const bytes = zipSync({ ...members, 'manifest.json': manifest });
    expect(await refusal(bytes, (file) => file.verifySignature(file.keys))).toBe(
      'signature_invalid: the signature is invalid',
    );
  });

  it.each([FILE, 'messages.jsonl'])('is refused when %s is read if it was changed', async (name) => {
    const members = await exported();
    members[name]![0]! ^= 1;
    const problem = await refusal(zipSync(members), async (file) => text(await file.open(name)));
    expect(problem).toBe(`content_changed: ${name} is not what was signed`);
  });

  it('is refused if a member has another size', async () => {
    const members = { ...(await exported()), [FILE]: strToU8('tea') };
    expect(await refusal(zipSync(members))).toBe(`content_changed: ${FILE} is not what was signed`);
  });

  it.each([
    ['leaves the archive', '../../etc/cron.d/x', 'members_invalid: "../../etc/cron.d/x" is unknown'],
    ['is absolute', '/etc/passwd', 'members_invalid: "/etc/passwd" is unknown'],
    ['is a folder', 'files/', 'members_invalid: "files/" is unknown'],
    ['has a long name', `files/${'a'.repeat(60_000)}`, `members_invalid: "files/${'a'.repeat(58)}" is unknown`],
    [
      'continues the name of another',
      `${FILE}${' '.repeat(60)}`,
      `members_invalid: "${FILE}${' '.repeat(22)}" is unknown`,
    ],
    ['has a free name', 'files/a.txt', 'members_invalid: "files/a.txt" is unknown'],
    ['belongs to no format', 'secrets.json', 'members_invalid: "secrets.json" is unknown'],
  ])('is refused if a member %s', async (_how, name, problem) => {
    expect(await refusal(zipSync({ ...(await exported()), [name]: strToU8('x') }))).toBe(problem);
  });

  it.each<[string, ZipOptions]>([
    ['a comment', { comment: 'x' }],
    ['long extra fields', { extra: { 0x9999: new Uint8Array(61) } }],
  ])('is refused if a member has %s, which would fill memory', async (what, options) => {
    const bytes = zipSync({ ...(await exported()), [FILE]: [strToU8(TEXTS[FILE]!), options] });
    expect(await refusal(bytes)).toBe(`members_invalid: "${FILE}" has ${what}`);
  });

  it('is refused if a member is not in the manifest', async () => {
    const more = 'files/01931a5e-7c00-7000-8000-0000000000ff';
    const problem = await refusal(zipSync({ ...(await exported()), [more]: strToU8('x') }));
    expect(problem).toBe(`members_invalid: ${more} is not in manifest.json`);
  });

  it('is refused if it has a member twice', async () => {
    const more = 'files/01931a5e-7c00-7000-8000-0000000000ff';
    const bytes = Buffer.from(zipSync({ ...(await exported()), [more]: strToU8('x') }));
    for (let at = bytes.indexOf(more); at !== -1; at = bytes.indexOf(more)) bytes.write(FILE, at);
    expect(await refusal(bytes)).toBe(`members_invalid: "${FILE}" is there twice`);
  });

  it('is refused if its manifest lists a member twice', async () => {
    const members = Object.entries(TEXTS).map(([name, content]) => member(name, content));
    const bytes = zipSync(await forged(TEXTS, { members: [...members, members[0]] }));
    expect(await refusal(bytes)).toBe('members_invalid: manifest.json lists a member twice');
  });

  it.each(REQUIRED_PATHS)('is refused without %s', async (name) => {
    const { [name]: _, ...rest } = TEXTS;
    expect(await refusal(zipSync(await forged(rest)))).toBe(`members_invalid: ${name} is missing`);
  });

  it('is refused if its members overlap, with which a small archive could contain much', async () => {
    const zip = Buffer.from(zipSync(await exported(), { level: 0 }));
    // The file's size in the directory, which is the last place with its name.
    const entry = zip.lastIndexOf(FILE) - 46;
    zip.writeUInt32LE(zip.length, entry + 20);
    zip.writeUInt32LE(zip.length, entry + 24);
    expect(await refusal(zip)).toMatch(/overlaps others$/);
  });

  it('is refused if its members are larger together than an installation allows', async () => {
    const zip = Buffer.from(zipSync(await exported()));
    const names = [FILE, ...REQUIRED_PATHS];
    for (const name of names) zip.writeUInt32LE(2 ** 31, zip.lastIndexOf(name) - 46 + 24);
    expect(await refusal(zip)).toBe('too_large: the members are too large');
  });

  it('is read in parts from a store, and an error of the store is not one of the file', async () => {
    const zip = Buffer.from(zipSync(await exported()));
    let isBroken = false;
    const file = await openRemoteSwarmFile({
      size: zip.length,
      async open({ start, end }) {
        if (isBroken) throw new Error('the store is unavailable');
        return Readable.from([zip.subarray(start, end + 1)]);
      },
    });
    expect(await text(await file.open(FILE))).toBe(TEXTS[FILE]);
    isBroken = true;
    await expect(file.open(FILE).then(text)).rejects.toMatchObject({ name: 'SourceError' });
    file.close();
  });

  it('is refused when a member is read that contains more than the directory states', async () => {
    const said = { ...TEXTS, [FILE]: '0'.repeat(10) };
    const members = Object.entries(said).map(([name, content]) => member(name, content));
    const zip = Buffer.from(zipSync(await forged({ ...TEXTS, [FILE]: '0'.repeat(50_000_000) }, { members })));
    zip.writeUInt32LE(10, zip.lastIndexOf(FILE) - 46 + 24);
    let read = 0;
    const problem = await refusal(zip, async (file) => {
      for await (const chunk of await file.open(FILE)) read += (chunk as Buffer).length;
    });
    expect({ problem, read }).toEqual({ problem: `content_changed: ${FILE} is not what was signed`, read: 0 });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['a later version', { version: 2 }, 'version_unsupported: version 2 of the format is not supported'],
    ['another format', { format: 'uswarm-export' }, 'not_a_swarm_file: manifest.json is not one of this format'],
    ['an unknown field', { user_id: 'x' }, 'members_invalid: manifest.json: : Unrecognized key: "user_id"'],
  ])('is refused if its manifest has %s', async (_what, manifest, problem) => {
    expect(await refusal(zipSync(await forged(TEXTS, manifest)))).toBe(problem);
  });

  it.each<[string, unknown[], string]>([
    ['for its members', Array(1_000_000).fill(0), 'too_large: manifest.json is too large'],
    ['in values', Array(500).fill(0), 'too_large: manifest.json has too many values'],
    ['in one of its members', [0, 0], 'members_invalid: manifest.json: members.0: Invalid input'],
  ])('is refused if its manifest is too large %s', async (_how, members, problem) => {
    expect(await refusal(zipSync(await forged(TEXTS, { members })))).toContain(problem);
  });

  it.each<[string, object[]]>([
    ['a key that is longer than its bytes', [{ kid: signer.kid, x: `${signer.x}${' '.repeat(900)}` }]],
    ['a key with the id of another', [{ kid: signer.kid, x: other.x }]],
    ['a key twice', [receiptJwk(signer), receiptJwk(signer)]],
    ['more keys than an installation has', Array(1_001).fill(receiptJwk(signer))],
  ])('is refused with %s', async (_what, keys) => {
    const bytes = zipSync(await forged({ ...TEXTS, [KEYS_PATH]: JSON.stringify({ keys }) }));
    expect(await refusal(bytes)).toMatch(/^(?:members_invalid: receipt-keys.json is not a key set|too_large: )/);
  });

  it('is refused with little memory, however well its members compress', async () => {
    const zeros = `{"keys":[${'0,'.repeat(500_000)}0]}`;
    const name = path.join(folder, 'bomb.uswarm');
    for (const bomb of [
      await forged({ ...TEXTS, [KEYS_PATH]: zeros }),
      await forged(TEXTS, { members: Array(5_000_000).fill(0) }),
    ]) {
      await writeFile(name, zipSync(bomb));
      expect((await stat(name)).size).toBeLessThan(50_000);
      expect(await openedElsewhere(name)).toBe('too_large');
    }
  }, 60_000);

  it.each<[string, Uint8Array]>([
    ['an empty file', new Uint8Array()],
    ['text', strToU8('hello '.repeat(100))],
    ['another archive', zipSync({})],
  ])('is not %s', async (_what, bytes) => {
    expect(await refusal(bytes)).toMatch(/^not_a_swarm_file: /);
  });

  it('is refused if it ends early', async () => {
    const bytes = zipSync(await exported());
    expect(await refusal(bytes.subarray(0, bytes.length - 1_000))).toMatch(/^not_a_swarm_file: /);
  });
});

describe('a table of a .uswarm file', () => {
  const read = async (...chunks: string[]): Promise<unknown[]> => {
    const rows: unknown[] = [];
    const content = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    for await (const row of jsonLines(content, 'messages.jsonl')) rows.push(row);
    return rows;
  };

  it('has a value per line, also if a line is read in parts', async () => {
    expect(await read('{"a":', '"ä\\n"}\n{"b"', ':2}', '\n', '3')).toEqual([{ a: 'ä\n' }, { b: 2 }, 3]);
    expect(await read()).toEqual([]);
  });

  it('is refused with a line that is not JSON, by its number', async () => {
    await expect(read('{}\n{\n{}\n')).rejects.toThrow('messages.jsonl: line 2 is not JSON');
  });

  it('is refused with a line of more values than a row has, but not for its texts', async () => {
    const [row] = await read(JSON.stringify({ text: '[,"{'.repeat(50_000) }));
    expect(row).toEqual({ text: '[,"{'.repeat(50_000) });
    await expect(read('{}\n', `[${'0,'.repeat(60_000)}0]`)).rejects.toMatchObject({
      problem: 'too_large',
      message: 'messages.jsonl: line 2 has too many values',
    });
  });

  it.each(['[', '{"a":'])('is refused with a line that is nested deeply in %s', async (open) => {
    const close = open === '[' ? ']' : '}';
    await expect(read(`${open.repeat(10_000)}1${close.repeat(10_000)}`)).rejects.toMatchObject({
      problem: 'rows_invalid',
      message: 'messages.jsonl: line 1 is nested too deeply',
    });
  });

  it('is refused with an endless line, before it is in memory', async () => {
    let sent = 0;
    const endless = new Readable({
      read() {
        sent += 1;
        this.push(Buffer.alloc(1024 ** 2, 'x'));
      },
    });
    await expect(jsonLines(endless, 'messages.jsonl').next()).rejects.toThrow('line 1 is too long');
    expect(sent).toBeLessThan(16);
  });
});
