import { describe, expect, it } from '@jest/globals';
import { createForwarder, exitCode } from './foreground.mjs';

describe('the foreground program', () => {
  it('gets one signal if the terminal and npm both send Ctrl-C', () => {
    const sent = [];
    let now = 0;
    const forward = createForwarder(
      (signal) => sent.push(signal),
      () => now,
    );
    forward('SIGINT');
    now = 50;
    forward('SIGINT');
    forward('SIGTERM');
    expect(sent).toEqual(['SIGINT', 'SIGTERM']);
    now = 3_000;
    forward('SIGINT');
    expect(sent).toEqual(['SIGINT', 'SIGTERM', 'SIGINT']);
  });
});

it('returns the exit code of the program', () => {
  expect([exitCode(0, null), exitCode(3, null), exitCode(null, 'SIGINT'), exitCode(null, 'SIGKILL')]).toEqual([
    0, 3, 130, 137,
  ]);
});
