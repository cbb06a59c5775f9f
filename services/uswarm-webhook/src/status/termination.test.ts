import { describe, expect, it } from '@jest/globals';
import { lastErrorMessage } from './termination.js';

const record = (fields: object): string => JSON.stringify({ level: 'fatal', ...fields });

describe('lastErrorMessage', () => {
  it.each<[what: string, log: string, expected: string | undefined]>([
    ['an empty log', '', undefined],
    ['a fatal record', `${record({ msg: 'port in use' })}\n`, 'port in use'],
    ['a fatal record whose error repeats the message', record({ msg: 'a', err: { message: 'a' } }), 'a'],
    ['the last fatal record', `${record({ msg: 'first' })}\n${record({ msg: 'last' })}\nplain text`, 'last'],
    ['an uncaught error', 'TypeError: x is not a function\n    at main.js:1:2\n', 'TypeError: x is not a function'],
    ['a record of a turn', JSON.stringify({ level: 'error', msg: 'user text' }), undefined],
    ['a truncated record', '{"level":"fatal","msg":"half', undefined],
    ['other text', 'user text', undefined],
  ])('reads the cause from %s', (_what, log, expected) => {
    expect(lastErrorMessage(log)).toBe(expected);
  });

  it.each([
    'OPENAI_API_KEY=sk-123',
    'password: hunter2',
    'GET https://user:hunter2@host/ failed',
    'Authorization: Bearer abc.def',
    'got eyJhbGciOiJIUzI1NiIsImtpZCI6ImsxIn0.eyJzdWIiOiJhIn0',
  ])('returns no credential: %s', (msg) => {
    expect(lastErrorMessage(record({ msg }))).not.toMatch(/sk-123|hunter2|abc\.def|eyJ/);
  });

  it('never cuts a character in two, because the API server would store another text', () => {
    for (const start of ['', 'a']) {
      const found = lastErrorMessage(record({ msg: `${start}${'🍵 '.repeat(500)}` }));
      expect(found?.isWellFormed()).toBe(true);
    }
  });

  it('returns at most 200 characters', () => {
    expect(lastErrorMessage(record({ msg: 'word '.repeat(500) }))?.length).toBe(200);
  });
});
