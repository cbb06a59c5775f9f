import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError, flag, json, loadConfig, port } from './config.js';

const schema = z.object({
  DATABASE_URL: z.string(),
  HTTP_PORT: port.default(8080),
  SECRET: z.string().min(8, 'needs at least 8 characters').optional(),
});

function problem(env: Record<string, string | undefined>, wanted: z.ZodType = schema): string {
  try {
    loadConfig(wanted, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('nothing was wrong');
}

describe('loadConfig', () => {
  it('fills in defaults and drops unknown variables', () => {
    expect(loadConfig(schema, { DATABASE_URL: 'postgres://x', HOME: '/root' })).toEqual({
      DATABASE_URL: 'postgres://x',
      HTTP_PORT: 8080,
    });
  });

  it('treats an empty variable as unset', () => {
    expect(loadConfig(schema, { DATABASE_URL: 'x', HTTP_PORT: '', SECRET: '' })).toEqual({
      DATABASE_URL: 'x',
      HTTP_PORT: 8080,
    });
    expect(problem({ DATABASE_URL: '' })).toBe('DATABASE_URL is not set');
  });

  it('reports every invalid variable on a separate line', () => {
    expect(problem({ HTTP_PORT: 'abc', SECRET: 'short' })).toBe(
      'DATABASE_URL is not set\n' +
        'HTTP_PORT is not valid: must be a port number up to 65535\n' +
        'SECRET is not valid: needs at least 8 characters',
    );
  });

  it('never prints a value', () => {
    expect(problem({ DATABASE_URL: 'x', SECRET: 'hunter2' })).not.toContain('hunter2');
    const many = z.object({ ISSUERS: json(z.array(z.url())), ON: flag, PORT: port });
    const shown = problem({ ISSUERS: '["hunter2"]', ON: 'hunter2', PORT: 'hunter2' }, many);
    expect(shown.split('\n')).toHaveLength(3);
    expect(shown).not.toContain('hunter2');
  });

  it('reports an error that concerns two variables', () => {
    const together = schema.refine(({ SECRET }) => SECRET !== undefined, 'SECRET is needed here');
    expect(problem({ DATABASE_URL: 'x' }, together)).toBe('SECRET is needed here');
  });
});

describe('kinds of settings', () => {
  it.each(['0', '1', '65535'])('accepts %s as a port', (text) => {
    expect(port.parse(text)).toBe(Number(text));
  });

  it.each(['-1', '65536', '80.5', 'abc'])('rejects %s as a port', (text) => {
    expect(port.safeParse(text).error?.issues.map(({ message }) => message)).toEqual([
      'must be a port number up to 65535',
    ]);
  });

  it.each([
    ['true', true],
    ['1', true],
    ['on', true],
    ['false', false],
    ['0', false],
    ['no', false],
  ])('%s is a flag', (text, meaning) => {
    expect(flag.parse(text)).toBe(meaning);
  });

  it('parses JSON and validates its content', () => {
    const numbers = json(z.array(z.number()));
    expect(numbers.parse('[1, 2]')).toEqual([1, 2]);
    expect(numbers.safeParse('["1"]').success).toBe(false);
    expect(numbers.safeParse('[1').error?.issues).toMatchObject([{ message: 'must be JSON' }]);
  });
});
