import { describe, expect, it } from '@jest/globals';
import {
  CONTROLS,
  CONTROLS_IN_LINES,
  DECEPTIVE_IN_NAMES,
  INVISIBLE,
  INVISIBLE_IN_QUERIES,
  UNPRINTABLE,
  UNPRINTABLE_IN_LINES,
} from './unsafe-characters.js';

const SAMPLES = {
  'line feed': '\n',
  escape: '\u001b',
  'zero-width space': '\u200b',
  'zero-width joiner': '\u200d',
  'right-to-left override': '\u202e',
  'line separator': '\u2028',
  'variation selector': '\ufe0f',
  'private use': '\ue000',
};

describe('sets of unsafe characters', () => {
  it.each([
    ['CONTROLS', CONTROLS, ['line feed', 'escape']],
    ['CONTROLS_IN_LINES', CONTROLS_IN_LINES, ['escape']],
    [
      'UNPRINTABLE',
      UNPRINTABLE,
      ['line feed', 'escape', 'zero-width space', 'zero-width joiner', 'right-to-left override', 'line separator'],
    ],
    [
      'UNPRINTABLE_IN_LINES',
      UNPRINTABLE_IN_LINES,
      [
        'escape',
        'zero-width space',
        'zero-width joiner',
        'right-to-left override',
        'line separator',
        'variation selector',
      ],
    ],
    [
      'DECEPTIVE_IN_NAMES',
      DECEPTIVE_IN_NAMES,
      ['line feed', 'escape', 'zero-width space', 'right-to-left override', 'line separator'],
    ],
    [
      'INVISIBLE',
      INVISIBLE,
      [
        'line feed',
        'escape',
        'zero-width space',
        'zero-width joiner',
        'right-to-left override',
        'variation selector',
        'private use',
      ],
    ],
    [
      'INVISIBLE_IN_QUERIES',
      INVISIBLE_IN_QUERIES,
      ['zero-width space', 'right-to-left override', 'variation selector', 'private use'],
    ],
  ])('%s matches exactly the characters that its readers must not see', (_name, set, expected) => {
    const matched = Object.entries(SAMPLES).filter(([, character]) => character.replace(set, '') === '');
    expect(matched.map(([name]) => name)).toEqual(expected);
  });
});
