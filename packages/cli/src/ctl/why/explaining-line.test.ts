import { describe, expect, it } from '@jest/globals';
import { explainingLine } from './explaining-line.js';

describe('the log line that explains a failure', () => {
  it.each<[string, string, string | null]>([
    ['the last error of a JSON log', '{"level":"error","msg":"first"}\n{"level":"error","msg":"last"}\n', 'last'],
    [
      'an error before later information',
      '{"level":"fatal","msg":"no key"}\n{"level":"info","msg":"stopped"}',
      'no key',
    ],
    ['numeric levels of pino', '{"level":50,"msg":"broken"}\n{"level":30,"msg":"ok"}', 'broken'],
    [
      'the cause after the message',
      '{"level":"error","msg":"start failed","err":{"message":"EACCES"}}',
      'start failed: EACCES',
    ],
    [
      'the error above its stack trace',
      'TypeError: x is not a function\n    at a (b.js:1:2)\n    at c (d.js:3:4)\n\nNode.js v24.1.0\n',
      'TypeError: x is not a function',
    ],
    ['the last line if none is an error', 'starting\nlistening\n', 'listening'],
    [
      'a line that looks like JSON but is none',
      '{"level":"fatal", cannot be parsed',
      '{"level":"fatal", cannot be parsed',
    ],
    [
      'an entry whose level is not an error but whose text is',
      '{"level":"info","msg":"failed"}\nfatal: gone',
      'fatal: gone',
    ],
    ['nothing in an empty log', '\n \n', null],
  ])('is %s', (_case, log, line) => {
    expect(explainingLine(log)).toBe(line);
  });

  it('has no control characters and at most 400 characters', () => {
    const line = explainingLine(`\u001B[31merror: ${'x'.repeat(1_000)}\n`) ?? '';
    expect(line).toHaveLength(400);
    expect(line.startsWith('[31merror: xxx')).toBe(true);
  });
});
