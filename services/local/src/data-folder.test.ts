import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LocalError, ownIdentity } from '@uswarm/dev-servers';
import { type DataFolder, dataDirectory, formatProblem, openDataFolder } from './data-folder.js';

let parent = '';
let directory = '';
const url = 'http://127.0.0.1:8080';

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'data-folder-'));
  directory = join(parent, 'data');
});

afterEach(() => rmSync(parent, { recursive: true }));

const open = (): DataFolder => openDataFolder({ directory, url });
const mode = (path: string): number => statSync(path).mode & 0o777;

describe('the data folder', () => {
  it('is created for its owner only and contains its format', () => {
    const folder = open();
    expect(mode(directory)).toBe(0o700);
    expect(JSON.parse(readFileSync(folder.file('format.json'), 'utf8'))).toEqual({ format: 1, postgres_major: 18 });
    folder.close();
  });

  it('is `.data` unless USWARM_DATA_DIR is set', () => {
    expect(dataDirectory({})).toMatch(/\.data$/);
    expect(dataDirectory({ USWARM_DATA_DIR: '' })).toBe(dataDirectory({}));
    expect(dataDirectory({ USWARM_DATA_DIR: directory })).toBe(directory);
  });

  it('keeps its secrets, readable only by their owner', () => {
    const first = open();
    first.close();
    const second = open();
    expect(second.secrets).toEqual(first.secrets);
    expect(mode(second.file('secrets.json'))).toBe(0o600);
    expect(new Set(Object.values(second.secrets)).size).toBe(Object.keys(second.secrets).length);
    second.close();
  });

  it('receives a secret that an earlier version did not have, and keeps the others', () => {
    const first = open();
    first.close();
    const { cursor_key: _dropped, ...kept } = first.secrets;
    writeFileSync(first.file('secrets.json'), JSON.stringify(kept));
    const second = open();
    expect(second.secrets).toMatchObject(kept);
    expect(second.secrets.cursor_key).toMatch(/^[\w-]{43}$/);
    second.close();
  });

  it('contains the URL of local mode while it runs', () => {
    const folder = open();
    const info = { url, issuer: `${url}/dev/issuer`, e2e_token: null, pid: process.pid };
    folder.writeLocalJson(info);
    expect(JSON.parse(readFileSync(folder.file('local.json'), 'utf8'))).toEqual(info);
    expect(mode(folder.file('local.json'))).toBe(0o600);
    folder.close();
    expect(readdirSync(directory).toSorted()).toEqual(['format.json', 'secrets.json']);
  });
});

describe('admin.json', () => {
  it('contains URL and key of the internal API, readable only by its owner, while local mode runs', () => {
    const folder = open();
    const info = { url, key: folder.secrets.admin_api_key, pid: process.pid };
    folder.writeAdminJson(info);
    expect(JSON.parse(readFileSync(folder.file('admin.json'), 'utf8'))).toEqual(info);
    expect(mode(folder.file('admin.json'))).toBe(0o600);
    folder.close();
    expect(readdirSync(directory).toSorted()).toEqual(['format.json', 'secrets.json']);
  });
});

describe('the lock of the data folder', () => {
  it('rejects a second instance', () => {
    const folder = open();
    expect(open).toThrow(LocalError);
    expect(open).toThrow(`Another instance (pid ${process.pid}, ${url}) already uses the data folder ${directory}`);
    folder.close();
    open().close();
  });

  it.each([
    ['a process that has ended', { ...ownIdentity(), pid: 2 ** 22 + 1 }],
    ['another process with the same pid', { ...ownIdentity(), started: 'long ago' }],
    ['an invalid holder', {}],
  ])('is taken over from %s', (_whose, holder) => {
    open().close();
    writeFileSync(join(directory, 'lock'), JSON.stringify({ ...holder, url }));
    const folder = open();
    expect(JSON.parse(readFileSync(folder.file('lock'), 'utf8'))).toMatchObject(ownIdentity());
    folder.close();
  });

  it('is released after a failed start', () => {
    open().close();
    writeFileSync(join(directory, 'format.json'), '{}');
    expect(open).toThrow('cannot be read');
    expect(readdirSync(directory)).not.toContain('lock');
  });
});

describe('an unusable data folder', () => {
  it.each([
    ['{"format":2,"postgres_major":18}', /newer version \(format 2, this one supports 1\): update this checkout/],
    ['{"format":0,"postgres_major":18}', /older version \(format 0, this one requires 1\): move it away/],
    ['{"format":1,"postgres_major":17}', /database of Postgres 17 and this version runs Postgres 18/],
    ['{"format":"1"}', /cannot be read/],
    ['', /cannot be read/],
  ])('is reported for %s', (text, sentence) => {
    expect(formatProblem(text)).toMatch(sentence);
    open().close();
    writeFileSync(join(directory, 'format.json'), text);
    expect(open).toThrow(sentence);
    expect(open).toThrow(/or set USWARM_DATA_DIR to another one\.$/);
  });

  it('is a folder with other files, which are not changed', () => {
    mkdirSync(directory);
    writeFileSync(join(directory, 'letter.txt'), 'mine');
    expect(open).toThrow('contains other files and is not a data folder of uswarm');
    expect(readdirSync(directory)).toEqual(['letter.txt']);
  });

  it('is not a folder that contains only SearXNG', () => {
    mkdirSync(join(directory, 'searxng'), { recursive: true });
    open().close();
    expect(readdirSync(directory)).toContain('format.json');
  });

  it('is not a folder that a killed start left, or that another start looks at', () => {
    mkdirSync(directory);
    for (const name of ['lock', 'format.json']) writeFileSync(join(directory, `${name}.${randomUUID()}`), '');
    open().close();
    expect(readdirSync(directory)).toContain('format.json');
  });

  it('is a path to a file', () => {
    writeFileSync(directory, '');
    expect(open).toThrow(/cannot be created; set USWARM_DATA_DIR/);
  });

  it('is a folder with invalid secrets', () => {
    open().close();
    writeFileSync(join(directory, 'secrets.json'), 'broken');
    expect(open).toThrow(/secrets\.json cannot be read/);
  });
});
