import { expect, it } from '@jest/globals';
import { readArguments } from './arguments.js';

it('passes everything from the first argument without dashes to the client', () => {
  const args = ['--transport', 'sse', '--only', 'send', '--only', 'gap', 'python3', 'client.py', '--json'];
  expect(readArguments(args)).toMatchObject({
    transport: 'sse',
    only: ['send', 'gap'],
    json: false,
    command: ['python3', 'client.py', '--json'],
  });
});

it.each([
  [[], 'The command of the client is missing'],
  [['--fast', 'client'], 'Unknown option --fast'],
  [['--transport', 'pigeon', 'client'], '--transport is socket or sse'],
  [['--jobs', 'many', 'client'], '--jobs needs a number from 1 on'],
])('refuses %j', (args, message) => {
  expect(() => readArguments(args)).toThrow(message);
});

it('needs no command for the list', () => {
  expect(readArguments(['--list'])).toMatchObject({ list: true });
});
