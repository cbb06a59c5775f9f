import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { createAsk } from './ask.js';

async function answering(hidden: boolean): Promise<{ answer: string; shown: string }> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const shown = text(output);
  const asked = createAsk(input, output)('password: ', hidden);
  input.write('open sesame\r');
  const answer = await asked;
  output.end();
  return { answer, shown: await shown };
}

it('a hidden answer does not appear at the terminal', async () => {
  const { answer, shown } = await answering(true);
  expect(answer).toBe('open sesame');
  expect(shown).toContain('password: ');
  expect(shown).not.toMatch(/open|sesame/);
});

it('another answer appears as it is typed', async () => {
  const { answer, shown } = await answering(false);
  expect(answer).toBe('open sesame');
  expect(shown).toContain('open sesame');
});

it.each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])('a question ends with %s', async (_key, typed) => {
  const input = new PassThrough();
  const asked = createAsk(input, new PassThrough())('password: ', true);
  input.write(typed);
  await expect(asked).rejects.toThrow(/^Canceled\.$/);
});
