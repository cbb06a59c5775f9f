import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { main } from './main.mjs';

let print;
beforeEach(() => {
  print = jest.spyOn(console, 'log').mockImplementation(() => undefined);
});
afterEach(() => print.mockRestore());

it.each(['e2e', 'scale', 'soak', 'lint:prose', 'images', 'chart'])(
  '%s --help prints the usage and runs nothing',
  async (command) => {
    expect(await main([command, '--help'])).toBe(0);
    expect(print.mock.calls).toEqual([[expect.stringMatching(new RegExp(`^Usage: npm run ${command} `))]]);
  },
);
