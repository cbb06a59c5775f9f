import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LocalError, ownIdentity } from '@uswarm/testkit';
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
  it('is made for its owner alone and says its format', () => {
    const folder = open();
    expect(mode(directory)).toBe(0o700);
    expect(JSON.parse(readFileSync(folder.file('format.json'), 'utf8'))).toEqual({ format: 1, postgres_major: 18 });
    folder.close();
  });

  it('is `.data` unless USWARM_DATA_DIR names another one', () => {
    expect(dataDirectory({})).toMatch(/\.data$/);
    expect(dataDirectory({ USWARM_DATA_DIR: '' })).toBe(dataDirectory({}));
    expect(dataDirectory({ USWARM_DATA_DIR: directory })).toBe(directory);
  });

  it('keeps its secrets, readable by their owner alone', () => {
    const first = open();
    first.close();
    const second = open();
    expect(second.secrets).toEqual(first.secrets);
    expect(mode(second.file('secrets.json'))).toBe(0o600);
    expect(new Set(Object.values(second.secrets)).size).toBe(Object.keys(second.secrets).length);
    second.close();
  });

  it('gets a secret that an earlier version did not have, and keeps the others', () => {
    const first = open();
    first.close();
    const { cursor_key: _dropped, ...kept } = first.secrets;
    writeFileSync(first.file('secrets.json'), JSON.stringify(kept));
    const second = open();
    expect(second.secrets).toMatchObject(kept);
    expect(second.secrets.cursor_key).toMatch(/^[\w-]{43}$/);
    second.close();
  });

  it('tells other programs where local mode runs, while it runs', () => {
    const folder = open();
    const info = { url, issuer: `${url}/dev/issuer`, e2e_token: null, pid: process.pid };
    folder.writeLocalJson(info);
    expect(JSON.parse(readFileSync(folder.file('local.json'), 'utf8'))).toEqual(info);
    expect(mode(folder.file('local.json'))).toBe(0o600);
    folder.close();
    expect(readdirSync(directory).toSorted()).toEqual(['format.json', 'secrets.json']);
  });
});

describe('what is for uswarmctl', () => {
  it('tells where the internal API is and what opens it, to its owner alone, while local mode runs', () => {
    const folder = open();
    const info = { url, key: folder.secrets.admin_api_key, pid: process.pid };
    folder.writeAdminJson(info);
    expect(JSON.parse(readFileSync(folder.file('admin.json'), 'utf8'))).toEqual(info);
    expect(mode(folder.file('admin.json'))).toBe(0o600);
    folder.close();
    expect(readdirSync(directory).toSorted()).toEqual(['format.json', 'secrets.json']);
  });
});

describe('one instance at a time', () => {
  it('uses a data folder', () => {
    const folder = open();
    expect(open).toThrow(LocalError);
    expect(open).toThrow(`Another instance (pid ${process.pid}, ${url}) already uses the data folder ${directory}`);
    folder.close();
    open().close();
  });

  it.each([
    ['a process that is gone', { ...ownIdentity(), pid: 2 ** 22 + 1 }],
    ['another process with its number', { ...ownIdentity(), started: 'long ago' }],
    ['nobody', {}],
  ])('takes over the lock of %s', (_whose, holder) => {
    open().close();
    writeFileSync(join(directory, 'lock'), JSON.stringify({ ...holder, url }));
    const folder = open();
    expect(JSON.parse(readFileSync(folder.file('lock'), 'utf8'))).toMatchObject(ownIdentity());
    folder.close();
  });

  it('is given the folder back after a start that failed', () => {
    open().close();
    writeFileSync(join(directory, 'format.json'), '{}');
    expect(open).toThrow('cannot be read');
    expect(readdirSync(directory)).not.toContain('lock');
  });
});

describe('a folder that this version cannot use', () => {
  it.each([
    ['{"format":2,"postgres_major":18}', /newer version \(format 2, this one knows 1\): update this checkout/],
    ['{"format":0,"postgres_major":18}', /older version \(format 0, this one needs 1\): move it away/],
    ['{"format":1,"postgres_major":17}', /database of Postgres 17 and this version runs Postgres 18/],
    ['{"format":"1"}', /cannot be read/],
    ['', /cannot be read/],
  ])('is named for %s', (text, sentence) => {
    expect(formatProblem(text)).toMatch(sentence);
    open().close();
    writeFileSync(join(directory, 'format.json'), text);
    expect(open).toThrow(sentence);
    expect(open).toThrow(/or set USWARM_DATA_DIR to another one\.$/);
  });

  it('is one with other files in it, which stay as they are', () => {
    mkdirSync(directory);
    writeFileSync(join(directory, 'letter.txt'), 'mine');
    expect(open).toThrow('holds other files and is no data folder of uswarm');
    expect(readdirSync(directory)).toEqual(['letter.txt']);
  });

  it('is not one that only holds SearXNG', () => {
    mkdirSync(join(directory, 'searxng'), { recursive: true });
    open().close();
    expect(readdirSync(directory)).toContain('format.json');
  });

  it('is one whose path is a file', () => {
    writeFileSync(directory, '');
    expect(open).toThrow(/cannot be made; set USWARM_DATA_DIR/);
  });

  it('is one with broken secrets', () => {
    open().close();
    writeFileSync(join(directory, 'secrets.json'), 'broken');
    expect(open).toThrow(/secrets\.json cannot be read/);
  });
});
