import { isAbsolute } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CommanderError } from 'commander';
import { parseChatArguments } from './chat-arguments.js';
import { usageExitCode } from './command-line.js';

/** Parses a command line that ends in help or in a usage error. */
function failedParse(args: string[]) {
  let stdout = '';
  let stderr = '';
  try {
    parseChatArguments(
      args,
      {},
      {
        writeOut: (text) => void (stdout += text),
        writeErr: (text) => void (stderr += text),
      },
    );
  } catch (error) {
    if (error instanceof CommanderError) return { code: usageExitCode(error), stdout, stderr };
    throw error;
  }
  throw new Error('The command line is valid.');
}

describe('the command line of npm run chat', () => {
  it('starts an interactive chat of the default user without arguments', () => {
    const { dataDir, ...rest } = parseChatArguments([], {});
    expect(rest).toEqual({
      message: undefined,
      json: false,
      url: undefined,
      email: 'me@example.com',
      name: 'Me',
    });
    expect(dataDir.endsWith('/.data') && isAbsolute(dataDir)).toBe(true);
  });

  it('accepts a message as one or several arguments', () => {
    expect(parseChatArguments(['What is new?'], {}).message).toBe('What is new?');
    expect(parseChatArguments(['--json', 'What', 'is', 'new?'], {})).toMatchObject({
      message: 'What is new?',
      json: true,
    });
    expect(parseChatArguments(['  '], {}).message).toBeUndefined();
  });

  it('prefers the data folder of the option to that of the environment', () => {
    expect(parseChatArguments(['--data-dir', '/a'], { USWARM_DATA_DIR: '/b' }).dataDir).toBe('/a');
    expect(parseChatArguments([], { USWARM_DATA_DIR: '/b' }).dataDir).toBe('/b');
    expect(parseChatArguments([], { USWARM_DATA_DIR: '' }).dataDir).toMatch(/\.data$/);
  });

  it('reduces the URL to its origin', () => {
    expect(parseChatArguments(['--url', 'http://localhost:8080/x/'], {}).url).toBe('http://localhost:8080');
  });

  it('prints the help to stdout and exits with 0 on --help', () => {
    const { code, stdout, stderr } = failedParse(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: npm run chat -- \[options\] \[message\.\.\.\]\n/);
  });

  it.each([
    { args: ['--nope'], message: /^error: unknown option '--nope'/ },
    { args: ['--jsn'], message: /\(Did you mean --json\?\)/ },
    { args: ['--email'], message: /^error: option '--email <email>' argument missing/ },
    { args: ['--url', 'localhost'], message: /--url <url>.*It must be an http or https URL\./ },
    { args: ['--url', 'ftp://x'], message: /--url <url>.*It must be an http or https URL\./ },
  ])('prints a usage error to stderr and exits with 2 for $args', ({ args, message }) => {
    const { code, stdout, stderr } = failedParse(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^See: npm run chat -- --help$/m);
  });
});
