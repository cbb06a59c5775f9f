import { describe, expect, it } from '@jest/globals';
import { call } from '../../test/model-call.js';
import { type RawHandler, sendError } from '../../test/raw-model-server.js';

const status =
  (code: number, headers: Record<string, string>, error: unknown): RawHandler =>
  (response) =>
    sendError(response, code, error, headers);

describe('a failed model call', () => {
  it.each<[string, number, Record<string, string>, unknown, string]>([
    ['a redirect', 308, { location: 'https://other.example/v1' }, 'Moved', 'redirect (status 308)'],
    ['a redirect with another status', 301, { location: '/login' }, 'Moved', 'redirect (status 301)'],
    [
      'a redirect that the model gateway has seen',
      502,
      {},
      { code: 'provider_redirected', message: 'No.' },
      'answered with a redirect',
    ],
    [
      'an account without credit that the model gateway has seen',
      402,
      {},
      { code: 'provider_credit_exhausted', message: 'No.' },
      'no credit left',
    ],
    [
      'an account without credit',
      429,
      {},
      {
        message: 'You exceeded your current quota, please check your plan and billing details.',
        code: 'insufficient_quota',
      },
      'no credit left (status 429',
    ],
    [
      'a missing model',
      404,
      {},
      { message: 'model "x" not found, try pulling it first' },
      'it does not have the model',
    ],
    ['a missing model with status 400', 400, {}, { message: 'invalid model ID' }, 'it does not have the model'],
    ['a wrong URL', 404, {}, 'Not Found', 'check its URL and the name of the model'],
    ['a wrong method', 405, {}, 'Method Not Allowed', 'check its URL'],
  ])('is final and names its cause: %s', async (_cause, code, headers, detail, sentence) => {
    const { error, requests } = await call(status(code, headers, detail));
    expect(error?.message).toContain(sentence);
    expect(requests).toHaveLength(1);
  });

  it('states that a web page came instead of a response', async () => {
    const { error } = await call((response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<!DOCTYPE html><html><title>Sign in</title></html>');
    });
    expect(error).toMatchObject({ code: 'model_unavailable', message: expect.stringContaining('a web page') });
  });

  it.each([
    'Loading model',
    'Model meta-llama/Llama-2-70b-chat is currently loading',
    'The model is warming up, please try again later',
    'llm server loading model',
    'No instances are ready. Scaling from zero',
    'DEPLOYMENT_SCALED_TO_ZERO',
    'waiting for model to load',
    'Provisioning instance',
    '模型加载中',
    'Das Modell wird geladen',
    'Server is starting up',
    'Engine is not ready yet',
  ])('is repeated for two minutes while the server loads the model: %s', async (message) => {
    const { error, waits, requests } = await call(status(503, {}, { message }));
    expect(error?.message).toBe('The model is still loading; try again later.');
    expect(requests.length).toBeGreaterThan(7);
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(90_000);
  });

  it('is not repeated for long if the server cannot load the model', async () => {
    const { requests } = await call(status(500, {}, { message: 'error loading model: unable to allocate memory' }));
    expect(requests).toHaveLength(6);
  });
});
