import { expect, it } from '@jest/globals';
import { limitedFetch } from './limited-fetch.js';

const answering =
  (text: string | null, status = 200) =>
  async () =>
    new Response(text, { status, headers: { 'x-a': 'b' } });

it('passes an answer within the limit on, with its status and headers', async () => {
  const answer = await limitedFetch(answering('12345', 418), 5)('http://a');
  expect([answer.status, answer.headers.get('x-a'), await answer.text()]).toEqual([418, 'b', '12345']);
});

it('ends a larger answer with an error', async () => {
  const answer = await limitedFetch(answering('123456'), 5)('http://a');
  await expect(answer.text()).rejects.toThrow('the response has more than 5 bytes');
});

it('passes an answer without a body on', async () => {
  expect((await limitedFetch(answering(null, 202), 5)('http://a')).status).toBe(202);
});
