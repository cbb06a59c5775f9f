import { describe, expect, it } from '@jest/globals';
import { readCommand } from './settings.js';

describe('the command line', () => {
  it('measures a million messages in 240 workspaces unless told otherwise', () => {
    expect(readCommand([])).toEqual({
      do: 'run',
      only: undefined,
      settings: expect.objectContaining({ small: false, messages: 1_000_000, workspaces: 240, conversation: 50_000 }),
    });
  });

  it('takes other numbers, also for a small run', () => {
    const command = readCommand(['--small', '--messages', '9000', '--warm-up', '2']);
    expect(command).toEqual({
      do: 'run',
      only: undefined,
      settings: expect.objectContaining({ small: true, messages: 9_000, warmUpSeconds: 2, rounds: 1 }),
    });
  });

  it('measures one case if asked to', () => {
    expect(readCommand(['--only', 'history-most'])).toMatchObject({ do: 'run', only: 'history-most' });
  });

  it('compares, keeps, and helps', () => {
    expect(readCommand(['--help'])).toEqual({ do: 'help' });
    expect(readCommand(['--compare'])).toEqual({ do: 'compare' });
    expect(readCommand(['--keep'])).toEqual({ do: 'keep' });
  });

  it.each([
    [['--seconds', '0'], '--seconds is a whole number from 1.'],
    [['--rounds', 'many'], '--rounds is a whole number from 1.'],
    [['--messages', '200000'], 'it must exceed 4 × --conversation'],
    [['--workspaces', '4'], '--workspaces must exceed'],
    [['--only', 'history'], '--only is one of history@100, history-most'],
    [['--nothing'], "Unknown option '--nothing'"],
  ])('%j is a mistake', (args, sentence) => {
    expect(() => readCommand(args)).toThrow(sentence);
    expect(() => readCommand(args)).toThrow('npm run bench -- --compare');
  });
});
