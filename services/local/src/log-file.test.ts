import { mkdtempSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openLogFile } from './log-file.js';

let folder: string;
let file: string;
let said: string[];
const say = (line: string): void => void said.push(line);
const content = (): string => readFileSync(file, 'utf8');

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'log-file-'));
  file = path.join(folder, 'log');
  said = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the log file', () => {
  it('appends entries to a private file without a message', () => {
    openLogFile(file, say).write('one\n');
    openLogFile(file, say).write('two\n');
    expect({ content: content(), mode: statSync(file).mode & 0o777, said }).toEqual({
      content: 'one\ntwo\n',
      mode: 0o600,
      said: [],
    });
  });

  it.each(['ENOSPC', 'EIO', 'EROFS', 'EDQUOT', 'ESTALE'])(
    'reports once that it cannot be written because of %s, and once that it can be written again',
    (code) => {
      let works = true;
      const write = (fd: number, data: Buffer): number => {
        if (works) return writeSync(fd, data);
        throw Object.assign(new Error(code), { code });
      };
      const log = openLogFile(file, say, { openSync, writeSync: write });
      log.write('one\n');
      works = false;
      for (const entry of ['two\n', 'three\n']) log.write(entry);
      expect(said).toEqual([expect.stringContaining(`The log ${file} cannot be written: `)]);
      expect(said[0]).toContain(code);
      works = true;
      log.write('four\n');
      log.write('five\n');
      expect(said.slice(1)).toEqual([`The log ${file} can be written again; 2 entries are missing.`]);
      expect(content()).toBe('one\nfour\nfive\n');
    },
  );

  it('begins a new line after an entry that was written in part', () => {
    let room = 6;
    const write = (fd: number, data: Buffer): number => {
      if (room === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      const written = writeSync(fd, data.subarray(0, room));
      room -= written;
      return written;
    };
    const log = openLogFile(file, say, { openSync, writeSync: write });
    log.write('one\n');
    log.write('second\n');
    room = 100;
    log.write('three\n');
    expect(content()).toBe('one\nse\nthree\n');
  });

  it('is created again after it was removed', () => {
    const log = openLogFile(file, say);
    log.write('one\n');
    rmSync(file);
    log.write('two\n');
    expect({ content: content(), said }).toEqual({ content: 'two\n', said: [] });
  });

  it('is created again after it was renamed', () => {
    const log = openLogFile(file, say);
    log.write('one\n');
    renameSync(file, `${file}.1`);
    log.write('two\n');
    expect(content()).toBe('two\n');
  });

  it('reports that it cannot be written after its folder was removed', () => {
    const log = openLogFile(file, say);
    log.write('one\n');
    rmSync(folder, { recursive: true });
    log.write('two\n');
    expect(said).toEqual([expect.stringContaining('its folder no longer exists (ENOENT)')]);
  });
});
