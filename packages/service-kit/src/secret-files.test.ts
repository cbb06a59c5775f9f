import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError, json, loadConfig } from './config.js';
import { secret, secretNames } from './secret-files.js';
import { secretText } from './secret-text.js';

const text = z.string();
const schema = z.object({
  SIGNING_KEY: secret(secretText(16)),
  CLIENTS: secret(json(z.object({ id: z.string() })).optional()),
  PREVIOUS: secret(text.optional()),
  PATH_OF_SOMETHING: text.optional(),
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uswarm-secret-files-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
const fileWith = (content: string): string => {
  const file = join(folder, `secret-${(count += 1)}`);
  writeFileSync(file, content);
  return file;
};

function problem(env: Record<string, string>): string {
  try {
    loadConfig(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('loadConfig did not refuse this environment');
}

const KEY = 'signing-key-of-the-tests-0123';

describe('a secret given as a file', () => {
  it.each([KEY, `${KEY}\n`, `${KEY}\r\n`])('is read without its trailing newline: %j', (content) => {
    expect(loadConfig(schema, { SIGNING_KEY_FILE: fileWith(content) })).toEqual({ SIGNING_KEY: KEY });
  });

  it('keeps all other white space, which may be part of the secret', () => {
    const content = ` ${KEY} \n\n`;
    expect(loadConfig(schema, { SIGNING_KEY_FILE: fileWith(content) })).toEqual({ SIGNING_KEY: ` ${KEY} \n` });
  });

  it('is validated like an environment variable, and its value is not printed', () => {
    expect(problem({ SIGNING_KEY_FILE: fileWith('hunter2') })).toMatch(/^SIGNING_KEY is not valid: /);
    expect(problem({ SIGNING_KEY_FILE: fileWith('hunter2') })).not.toContain('hunter2');
  });

  it('is rejected if the environment also has the value, because one of them would be ignored', () => {
    expect(problem({ SIGNING_KEY: KEY, SIGNING_KEY_FILE: fileWith('another-key-of-the-tests') })).toBe(
      'SIGNING_KEY and SIGNING_KEY_FILE are both set; set one of them',
    );
  });

  it('is rejected with the reason if it cannot be read or is empty', () => {
    expect(problem({ SIGNING_KEY_FILE: join(folder, 'absent') })).toBe('SIGNING_KEY_FILE cannot be read: ENOENT');
    expect(problem({ SIGNING_KEY_FILE: folder })).toBe('SIGNING_KEY_FILE cannot be read: EISDIR');
    expect(problem({ SIGNING_KEY_FILE: fileWith('\n') })).toBe('SIGNING_KEY_FILE names an empty file');
  });

  it('counts as unset if the variable is empty', () => {
    expect(loadConfig(schema, { SIGNING_KEY: KEY, SIGNING_KEY_FILE: '' })).toEqual({ SIGNING_KEY: KEY });
    expect(problem({ SIGNING_KEY_FILE: '' })).toBe('SIGNING_KEY is not set');
  });

  it('is only possible for settings that are marked as secret', () => {
    expect(loadConfig(schema, { SIGNING_KEY: KEY, PATH_OF_SOMETHING_FILE: fileWith('x') })).toEqual({
      SIGNING_KEY: KEY,
    });
    expect(secretNames(schema.superRefine(() => undefined))).toEqual(['SIGNING_KEY', 'CLIENTS', 'PREVIOUS']);
  });
});
