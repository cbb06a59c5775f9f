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
  expect({
    success: exitCode(0, null),
    failure: exitCode(3, null),
    interrupted: exitCode(null, 'SIGINT'),
    killed: exitCode(null, 'SIGKILL'),
  }).toEqual({ success: 0, failure: 3, interrupted: 130, killed: 137 });
});
