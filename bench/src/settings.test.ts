import { describe, expect, it } from '@jest/globals';
import { readCommand } from './settings.js';

describe('the command line of npm run bench', () => {
  it('measures a million messages in 240 workspaces by default', () => {
    expect(readCommand([])).toEqual({
      do: 'run',
      only: undefined,
      settings: expect.objectContaining({ small: false, messages: 1_000_000, workspaces: 240, conversation: 50_000 }),
    });
  });

  it('accepts other numbers, also for a small run', () => {
    const command = readCommand(['--small', '--messages', '9000', '--warm-up', '2']);
    expect(command).toEqual({
      do: 'run',
      only: undefined,
      settings: expect.objectContaining({ small: true, messages: 9_000, warmUpSeconds: 2, rounds: 1 }),
    });
  });

  it('measures only the case of --only', () => {
    expect(readCommand(['--only', 'history-most'])).toMatchObject({ do: 'run', only: 'history-most' });
  });

  it('accepts --compare, --keep and --help', () => {
    expect(readCommand(['--help'])).toEqual({ do: 'help' });
    expect(readCommand(['--compare'])).toEqual({ do: 'compare' });
    expect(readCommand(['--keep'])).toEqual({ do: 'keep' });
  });

  it.each([
    [['--seconds', '0'], '--seconds must be a positive integer.'],
    [['--rounds', 'many'], '--rounds must be a positive integer.'],
    [['--messages', '200000'], 'it must exceed 4 × --conversation'],
    [['--workspaces', '4'], '--workspaces must exceed'],
    [['--only', 'history'], '--only must be one of history@100, history-most'],
    [['--nothing'], "Unknown option '--nothing'"],
  ])('rejects %j with the rule and the usage', (args, sentence) => {
    expect(() => readCommand(args)).toThrow(sentence);
    expect(() => readCommand(args)).toThrow('npm run bench -- --compare');
  });
});
