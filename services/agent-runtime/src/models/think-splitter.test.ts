import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createThinkSplitter } from './think-splitter.js';

describe('the splitter of <think> text', () => {
  it('splits <think> from any text at any boundaries', () => {
    const plain = fc.string().filter((one) => !one.includes('<') && one.trim() !== '' && one === one.trim());
    fc.assert(
      fc.property(plain, plain, fc.array(fc.nat(40)), (thought, said, cuts) => {
        const whole = `<think>${thought}</think>${said}`;
        const at = [0, ...cuts.map((cut) => cut % whole.length).toSorted((left, right) => left - right), whole.length];
        const split = createThinkSplitter();
        const parts = at.slice(1).map((end, index) => split.add(whole.slice(at[index], end)));
        expect(parts.map((part) => part.thought).join('')).toBe(thought);
        expect(parts.map((part) => part.text).join('')).toBe(said);
      }),
    );
  });

  it('returns a text that ends like the beginning of a tag', () => {
    for (const whole of ['<', ' <thi', '<think', '<b']) {
      const split = createThinkSplitter();
      const parts = [...whole].map((piece) => split.add(piece));
      expect([...parts, split.end()].map(({ text }) => text).join('')).toBe(whole);
    }
  });

  it('returns thoughts that end like the beginning of a tag', () => {
    const split = createThinkSplitter();
    const { thought } = split.add('<think>a </');
    expect(thought + split.end().thought).toBe('a </');
  });
});
