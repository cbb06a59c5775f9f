import { isAbsolute } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseChatArguments } from './arguments.js';
import { Failure } from './failure.js';

describe('the command line', () => {
  it('is an interactive chat as nobody in particular without arguments', () => {
    const { dataDir, ...rest } = parseChatArguments([], {});
    expect(rest).toEqual({
      question: undefined,
      json: false,
      help: false,
      url: undefined,
      email: 'me@example.com',
      name: 'Me',
    });
    expect(dataDir.endsWith('/.data') && isAbsolute(dataDir)).toBe(true);
  });

  it('takes a question in one word or many', () => {
    expect(parseChatArguments(['What is new?'], {}).question).toBe('What is new?');
    expect(parseChatArguments(['--json', 'What', 'is', 'new?'], {})).toMatchObject({
      question: 'What is new?',
      json: true,
    });
    expect(parseChatArguments(['  '], {}).question).toBeUndefined();
  });

  it('takes the data folder from the option before the environment', () => {
    expect(parseChatArguments(['--data-dir', '/a'], { USWARM_DATA_DIR: '/b' }).dataDir).toBe('/a');
    expect(parseChatArguments([], { USWARM_DATA_DIR: '/b' }).dataDir).toBe('/b');
    expect(parseChatArguments([], { USWARM_DATA_DIR: '' }).dataDir).toMatch(/\.data$/);
  });

  it('reduces the address to its origin', () => {
    expect(parseChatArguments(['--url', 'http://localhost:8080/x/'], {}).url).toBe('http://localhost:8080');
  });

  it.each([
    [['--nope'], /--nope.*See: npm run chat -- --help$/],
    [['--email'], /email.*--help$/],
    [['--url', 'localhost'], /^--url must be/],
    [['--url', 'ftp://x'], /^--url must be/],
  ])('refuses %j in one sentence', (args, sentence) => {
    const parse = () => parseChatArguments(args, {});
    expect(parse).toThrow(Failure);
    expect(parse).toThrow(sentence);
  });
});
