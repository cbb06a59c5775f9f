import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findConnection } from './connection.js';

const KEY = `ops:${'k'.repeat(32)}`;
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const TOKEN = `${part({ alg: 'RS256' })}.${part({ sub: 'olivia' })}.AAAA`;
const URL = 'http://127.0.0.1:8082';
const NO_OPTIONS = { url: undefined, keyFile: undefined, tokenCommand: undefined, dataDir: undefined, as: undefined };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-ctl-'));
});
afterEach(() => rm(folder, { recursive: true }));

const write = (name: string, text: string) => writeFile(join(folder, name), text);
const adminFile = { url: URL, key: KEY, pid: process.pid };

describe('the connection of uswarmctl', () => {
  it('comes from the environment', async () => {
    const env = { USWARM_ADMIN_URL: URL, USWARM_ADMIN_KEY: KEY, USWARM_OPERATOR: 'olivia' };
    expect(await findConnection(NO_OPTIONS, env)).toMatchObject({ url: URL, key: { id: 'ops' }, operator: 'olivia' });
  });

  it('is the origin of a URL in the environment, which may end with a slash', async () => {
    const env = { USWARM_ADMIN_URL: `${URL}/`, USWARM_ADMIN_KEY: KEY };
    expect(await findConnection(NO_OPTIONS, env)).toMatchObject({ url: URL });
  });

  it('comes from options, which override the environment', async () => {
    await write('key', `${KEY}\n`);
    const env = {
      USWARM_ADMIN_URL: 'http://127.0.0.1:1',
      USWARM_ADMIN_KEY: `other:${'x'.repeat(32)}`,
      USWARM_OPERATOR: 'x',
    };
    const args = { ...NO_OPTIONS, url: URL, keyFile: join(folder, 'key'), as: 'olivia' };
    expect(await findConnection(args, env)).toMatchObject({ url: URL, key: { id: 'ops' }, operator: 'olivia' });
  });

  it('is that of the running local mode without options and environment', async () => {
    await write('admin.json', JSON.stringify(adminFile));
    for (const [args, env] of [
      [{ ...NO_OPTIONS, dataDir: folder }, {}],
      [NO_OPTIONS, { USWARM_DATA_DIR: folder }],
    ] as const) {
      expect(await findConnection(args, env)).toMatchObject({ url: URL, key: { id: 'ops' } });
    }
  });

  it('uses the name of the operating system user by default', async () => {
    const settings = { USWARM_ADMIN_URL: URL, USWARM_ADMIN_KEY: KEY };
    const connection = await findConnection(NO_OPTIONS, settings);
    expect(connection).toMatchObject({ operator: expect.stringMatching(/./) });
    expect(await findConnection(NO_OPTIONS, { ...settings, USWARM_OPERATOR: '' })).toEqual(connection);
  });

  it('needs --as for an operating system user without a name, as in a container', async () => {
    const noName = (): string => {
      throw new Error('uv_os_get_passwd returned ENOENT');
    };
    const env = { USWARM_ADMIN_URL: URL, USWARM_ADMIN_KEY: KEY };
    await expect(findConnection(NO_OPTIONS, env, noName)).rejects.toThrow(
      /^The operator is unknown: set --as or USWARM_OPERATOR\.$/,
    );
    expect(await findConnection({ ...NO_OPTIONS, as: 'olivia' }, env, noName)).toMatchObject({ operator: 'olivia' });
  });

  describe('with a token', () => {
    it('has the one from the environment, which goes before a key there', async () => {
      const env = { USWARM_ADMIN_URL: URL, USWARM_ADMIN_KEY: KEY, USWARM_TOKEN: `${TOKEN}\n` };
      expect(await findConnection(NO_OPTIONS, env)).toEqual({ url: URL, token: TOKEN });
    });

    it('has the key of an option instead of a token in the environment', async () => {
      await write('key', KEY);
      const args = { ...NO_OPTIONS, url: URL, keyFile: join(folder, 'key') };
      expect(await findConnection(args, { USWARM_TOKEN: TOKEN })).toMatchObject({ key: { id: 'ops' } });
    });

    it('runs the command that prints it, which goes before the environment', async () => {
      await write('token', `${TOKEN}\n`);
      const args = { ...NO_OPTIONS, url: URL, tokenCommand: `cat ${join(folder, 'token')}` };
      expect(await findConnection(args, { USWARM_TOKEN: 'x', USWARM_ADMIN_KEY: KEY })).toEqual({
        url: URL,
        token: TOKEN,
      });
    });

    it('reads the credential that plugins of kubectl print', async () => {
      await write('token', JSON.stringify({ kind: 'ExecCredential', status: { token: TOKEN } }));
      const args = { ...NO_OPTIONS, url: URL, tokenCommand: `cat ${join(folder, 'token')}` };
      expect(await findConnection(args, {})).toEqual({ url: URL, token: TOKEN });
    });

    it.each<[string, object, Record<string, string>, RegExp]>([
      ['without a URL', {}, { USWARM_TOKEN: TOKEN }, /^The URL is missing: /],
      ['with an operator name', { url: URL, as: 'oscar' }, { USWARM_TOKEN: TOKEN }, /^--as needs a key: /],
      ['with a key file as well', { url: URL, keyFile: 'k', tokenCommand: 't' }, {}, /exclude each other/],
      ['if it is not a JWT', { url: URL }, { USWARM_TOKEN: 'secret' }, /^The token is not a JWT\.$/],
      ['if the command fails', { url: URL, tokenCommand: 'exit 3' }, {}, /^The token command failed \(3\)\.$/],
      [
        'if the command prints nothing',
        { url: URL, tokenCommand: 'true' },
        {},
        /^The token command printed nothing\.$/,
      ],
    ])('is rejected %s', async (_what, args, env, sentence) => {
      await expect(findConnection({ ...NO_OPTIONS, ...args }, env)).rejects.toThrow(sentence);
    });
  });

  it.each<[string, object, Record<string, string>, RegExp]>([
    [
      'a URL without a key',
      { url: URL },
      {},
      /^The key is missing: set --key-file or USWARM_ADMIN_KEY\. For a token, set --token-command or USWARM_TOKEN\.$/,
    ],
    ['a key without a URL', {}, { USWARM_ADMIN_KEY: KEY }, /^The URL is missing: set --url or USWARM_ADMIN_URL\.$/],
    [
      'a URL without http in the environment',
      {},
      { USWARM_ADMIN_URL: '127.0.0.1:8082', USWARM_ADMIN_KEY: KEY },
      /^USWARM_ADMIN_URL must be an http or https URL\.$/,
    ],
    ['a key that is too short', { url: URL }, { USWARM_ADMIN_KEY: 'short' }, /^Invalid key: /],
    ['a missing key file', { url: URL, keyFile: '/nonexistent' }, {}, /^\/nonexistent cannot be read \(ENOENT\)\.$/],
    [
      'no running local mode',
      { dataDir: '/nonexistent' },
      {},
      /^uswarm is not running here\. Start it with npm start, or set --url/,
    ],
    ['an empty operator name', { as: ' ' }, {}, /^--as must be 1 to 100 characters long/],
  ])('rejects %s with one sentence', async (_what, args, env, sentence) => {
    await expect(findConnection({ ...NO_OPTIONS, ...args }, env)).rejects.toThrow(sentence);
  });

  it.each([
    ['is not JSON', '{', /admin\.json is invalid/],
    ['has no key', JSON.stringify({ url: URL, pid: process.pid }), /admin\.json is invalid/],
    [
      'names a process that has ended',
      JSON.stringify({ ...adminFile, pid: 2 ** 22 + 1 }),
      /^uswarm is not running here\./,
    ],
  ])('fails with one sentence when admin.json %s', async (_what, text, sentence) => {
    await write('admin.json', text);
    await expect(findConnection({ ...NO_OPTIONS, dataDir: folder }, {})).rejects.toThrow(sentence);
  });
});
