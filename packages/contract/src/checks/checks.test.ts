import { describe, expect, it } from '@jest/globals';
import { ERRORS, type ErrorCode } from '../errors.js';
import { checkResponse, checkServerEvent } from './index.js';

const id = '0192d3a4-0000-7000-8000-000000000000';
const failure = (code: ErrorCode) => ({ message: ERRORS[code].message, code, extra: { request_id: 'r-1' } });
const health = { data: { online: true, version: '1.2.3' } };

describe('checkResponse', () => {
  it.each([
    ['a documented response', { method: 'GET', path: '/v1/health', status: 200, body: health }],
    ['a URL with a query', { method: 'get', path: 'http://localhost:1/v1/health?x=1', status: 200, body: health }],
    ['a response without a body', { method: 'POST', path: '/v1/auth/sign-up', status: 204, body: '' }],
    ['a file', { method: 'GET', path: `/v1/uploads/${id}?sig=s`, status: 200, body: new Uint8Array(2) }],
    [
      'a documented error',
      { method: 'GET', path: `/v1/workspaces/${id}`, status: 404, body: failure('workspace_not_found') },
    ],
    ['an unknown path', { method: 'GET', path: '/v1/nothing', status: 404, body: failure('route_not_found') }],
  ])('accepts %s', (_what, seen) => {
    expect(() => checkResponse(seen)).not.toThrow();
  });

  it.each([
    [
      'a field that is not documented',
      { path: '/v1/health', status: 200, body: { data: { ...health.data, extra: 1 } } },
      /extra/,
    ],
    [
      'a response that is not wrapped',
      { path: '/v1/health', status: 200, body: health.data },
      /not the documented one/,
    ],
    [
      'a status that is not documented',
      { path: '/v1/health', status: 202, body: health },
      /getHealth does not document/,
    ],
    ['a body where there is none', { method: 'POST', path: '/v1/auth/sign-up', status: 204, body: {} }, /has no body/],
    ['JSON in place of a file', { path: `/v1/uploads/${id}`, status: 200, body: {} }, /not a file/],
    [
      'an error without an error object',
      { path: '/v1/health', status: 500, body: '<html>' },
      /not the documented error/,
    ],
    [
      'a code of another route',
      { path: '/v1/health', status: 404, body: failure('agent_not_found') },
      /agent_not_found is not documented/,
    ],
    [
      'a code with another status',
      { path: '/v1/users/profile', status: 403, body: failure('token_missing') },
      /belongs to 401/,
    ],
    ['success of an unknown path', { path: '/v1/nothing', status: 200, body: {} }, /the route does not exist/],
    [
      'another code of an unknown path',
      { path: '/v1/nothing', status: 401, body: failure('token_missing') },
      /not documented/,
    ],
  ])('rejects %s', (_what, seen, complaint) => {
    expect(() => checkResponse({ method: 'GET', ...seen })).toThrow(complaint);
  });

  it('reports the request and the body in the error', () => {
    expect(() => checkResponse({ method: 'get', path: '/v1/health?x=1', status: 200, body: { up: true } })).toThrow(
      /^GET \/v1\/health answered 200, [\s\S]*\{"up":true\}$/,
    );
  });
});

describe('checkServerEvent', () => {
  const ack = { local_id: 'l', message_id: id, status: 'received' };

  it('accepts a documented event', () => {
    expect(() => checkServerEvent('message.send.ack', ack)).not.toThrow();
  });

  it('rejects a payload that does not match the contract', () => {
    expect(() => checkServerEvent('message.send.ack', { ...ack, status: 'sent' })).toThrow(
      /message\.send\.ack[\s\S]*status/,
    );
  });

  it.each(['message.gone', 'toString'])('rejects the unknown event %s', (name) => {
    expect(() => checkServerEvent(name, {})).toThrow(/is not documented/);
  });
});
