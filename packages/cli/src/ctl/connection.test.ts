import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findConnection } from './connection.js';

const KEY = `ops:${'k'.repeat(32)}`;
const URL = 'http://127.0.0.1:8082';
const NOTHING = { url: undefined, keyFile: undefined, dataDir: undefined, as: undefined };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-ctl-'));
});
afterEach(() => rm(folder, { recursive: true }));

const write = (name: string, text: string) => writeFile(join(folder, name), text);
const runs = { url: URL, key: KEY, pid: process.pid };

describe('the connection of uswarmctl', () => {
  it('is said by the environment', async () => {
    const env = { USWARM_ADMIN_URL: URL, USWARM_ADMIN_KEY: KEY, USWARM_OPERATOR: 'olivia' };
    expect(await findConnection(NOTHING, env)).toMatchObject({ url: URL, key: { id: 'ops' }, operator: 'olivia' });
  });

  it('is said by options, which win', async () => {
    await write('key', `${KEY}\n`);
    const env = {
      USWARM_ADMIN_URL: 'http://127.0.0.1:1',
      USWARM_ADMIN_KEY: `other:${'x'.repeat(32)}`,
      USWARM_OPERATOR: 'x',
    };
    const args = { ...NOTHING, url: URL, keyFile: join(folder, 'key'), as: 'olivia' };
    expect(await findConnection(args, env)).toMatchObject({ url: URL, key: { id: 'ops' }, operator: 'olivia' });
  });

  it('is that of a running local mode where nothing is said', async () => {
    await write('admin.json', JSON.stringify(runs));
    for (const [args, env] of [
      [{ ...NOTHING, dataDir: folder }, {}],
      [NOTHING, { USWARM_DATA_DIR: folder }],
    ] as const) {
      expect(await findConnection(args, env)).toMatchObject({ url: URL, key: { id: 'ops' } });
    }
  });

  it('is in the name of who runs it, unless told otherwise', async () => {
    const { operator } = await findConnection(NOTHING, { USWARM_ADMIN_URL: URL, USWARM_ADMIN_KEY: KEY });
    expect(operator).not.toBe('');
  });

  it.each<[string, object, Record<string, string>, RegExp]>([
    ['an address alone', { url: URL }, {}, /^The key is missing: --key-file, or USWARM_ADMIN_KEY\.$/],
    ['a key alone', {}, { USWARM_ADMIN_KEY: KEY }, /^The address is missing: --url, or USWARM_ADMIN_URL\.$/],
    ['a key that is too short', { url: URL }, { USWARM_ADMIN_KEY: 'short' }, /^The key is not good: /],
    [
      'a key file that is not there',
      { url: URL, keyFile: '/nonexistent' },
      {},
      /^\/nonexistent cannot be read \(ENOENT\)\.$/,
    ],
    [
      'no local mode',
      { dataDir: '/nonexistent' },
      {},
      /^uswarm is not running here\. Start uswarm with npm start, or say/,
    ],
    ['an empty name', { as: ' ' }, {}, /^--as must be a name/],
  ])('with %s fails in a sentence', async (_what, args, env, sentence) => {
    await expect(findConnection({ ...NOTHING, ...args }, env)).rejects.toThrow(sentence);
  });

  it.each([
    ['is damaged', '{', /admin\.json is damaged/],
    ['has no key', JSON.stringify({ url: URL, pid: process.pid }), /admin\.json is damaged/],
    ['is of a process that is gone', JSON.stringify({ ...runs, pid: 2 ** 22 + 1 }), /^uswarm is not running here\./],
  ])('fails in a sentence where admin.json %s', async (_what, text, sentence) => {
    await write('admin.json', text);
    await expect(findConnection({ ...NOTHING, dataDir: folder }, {})).rejects.toThrow(sentence);
  });
});
