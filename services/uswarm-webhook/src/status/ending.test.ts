import { describe, expect, it } from '@jest/globals';
import { lastWords } from './ending.js';

const record = (fields: object): string => JSON.stringify({ level: 'fatal', ...fields });

describe('the last words of a log', () => {
  it.each<[what: string, log: string, said: string | undefined]>([
    ['nothing', '', undefined],
    ['a fatal record', `${record({ msg: 'port in use' })}\n`, 'port in use'],
    ['a fatal record with its error once', record({ msg: 'a', err: { message: 'a' } }), 'a'],
    ['the last fatal record', `${record({ msg: 'first' })}\n${record({ msg: 'last' })}\nplain text`, 'last'],
    ['an uncaught error', 'TypeError: x is not a function\n    at main.js:1:2\n', 'TypeError: x is not a function'],
    ['a record of a turn', JSON.stringify({ level: 'error', msg: 'what a user wrote' }), undefined],
    ['a record that was cut off', '{"level":"fatal","msg":"half', undefined],
    ['other text', 'what a user wrote', undefined],
  ])('are taken from %s', (_what, log, said) => {
    expect(lastWords(log)).toBe(said);
  });

  it.each([
    'OPENAI_API_KEY=sk-123',
    'password: hunter2',
    'GET https://user:hunter2@host/ failed',
    'Authorization: Bearer abc.def',
    'got eyJhbGciOiJIUzI1NiIsImtpZCI6ImsxIn0.eyJzdWIiOiJhIn0',
  ])('leave out what looks like a credential: %s', (msg) => {
    expect(lastWords(record({ msg }))).not.toMatch(/sk-123|hunter2|abc\.def|eyJ/);
  });

  it('are at most 200 characters', () => {
    expect(lastWords(record({ msg: 'word '.repeat(500) }))?.length).toBe(200);
  });
});
