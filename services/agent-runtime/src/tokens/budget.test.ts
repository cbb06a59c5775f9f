import { describe, expect, it } from '@jest/globals';
import { promptBudget } from './budget.js';

describe('the budget of a prompt', () => {
  it('is the window without the output and a reserve of 5 %', () => {
    expect(promptBudget({ contextWindow: 128_000, maxOutputTokens: 8_000 })).toBe(113_600);
  });

  it('is not positive if the output fills the window', () => {
    expect(promptBudget({ contextWindow: 8_000, maxOutputTokens: 8_000 })).toBeLessThanOrEqual(0);
  });
});
