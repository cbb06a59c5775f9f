import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OAuthFailure, readGrant, readRevocation } from './oauth-answer.js';

const answer = (status: number, body: unknown) => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

function failureOf(read: () => unknown): [string, string] | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof OAuthFailure) return [error.kind, error.reason];
    throw error;
  }
}

describe('readGrant', () => {
  it.each([
    [
      'OAuth 2.0',
      { access_token: 'a', refresh_token: 'r', expires_in: 3600, token_type: 'bearer' },
      { accessToken: 'a', refreshToken: 'r', expiresInS: 3600 },
    ],
    [
      'GitHub, with a token that does not expire',
      { access_token: 'a', scope: 'repo' },
      { accessToken: 'a', expiresInS: undefined },
    ],
    [
      'Slack, with the token of the user one level deeper',
      { ok: true, authed_user: { id: 'U1', access_token: 'xoxp', refresh_token: 'xoxe', expires_in: 43_200 } },
      { accessToken: 'xoxp', refreshToken: 'xoxe', expiresInS: 43_200 },
    ],
    [
      'Notion, with null for absent fields',
      { access_token: 'a', refresh_token: 'r', expires_in: null, bot_id: 'b' },
      { accessToken: 'a', refreshToken: 'r', expiresInS: undefined },
    ],
    [
      'a provider that sends numbers as strings',
      { access_token: 'a', expires_in: '60' },
      { accessToken: 'a', expiresInS: 60 },
    ],
  ])('reads the response of %s', (_provider, body, grant) => {
    expect(readGrant(answer(200, body))).toMatchObject(grant);
  });

  it('reads a token, whatever the other fields hold', () => {
    const odd = fc.oneof(fc.jsonValue(), fc.constantFrom(null, '', 0, -1, 1e300, '3600', 'never', [], [null], {}));
    const names = [
      'refresh_token',
      'expires_in',
      'scope',
      'token_type',
      'id_token',
      'error',
      'ok',
      'authed_user',
      'team',
    ];
    const others = fc.dictionary(fc.constantFrom(...names), odd);
    fc.assert(
      fc.property(others, fc.boolean(), (fields, isNested) => {
        const own = { ...fields, access_token: 'a' };
        const { accessToken, refreshToken, expiresInS } = readGrant(
          answer(200, isNested ? { ...fields, access_token: null, authed_user: own } : own),
        );
        expect({ accessToken, hasEmpty: refreshToken === '', isInvalid: Number.isNaN(expiresInS) }).toEqual({
          accessToken: 'a',
          hasEmpty: false,
          isInvalid: false,
        });
      }),
    );
  });

  it.each([
    ['seconds', 3_600, 3_600],
    ['a number as text', '3600', 3_600],
    ['a fraction', 0.5e4, 5_000],
    ['nothing', undefined, undefined],
    ['null', null, undefined],
    ['zero', 0, undefined],
    ['a negative number', -1, undefined],
    ['more than a calendar has', 1e300, undefined],
    ['text', 'never', undefined],
    ['true', true, undefined],
    ['a list', [3_600], undefined],
  ])('reads a lifetime that is %s', (_what, expires_in, expected) => {
    expect(readGrant(answer(200, { access_token: 'a', expires_in })).expiresInS).toBe(expected);
  });

  it.each([
    ['separated by spaces', 'a b', ['a', 'b']],
    ['separated by commas', 'a,b', ['a', 'b']],
    ['separated by both', ' a,  b ', ['a', 'b']],
    ['a list', ['a', 'b'], ['a', 'b']],
    ['a list of one text', ['a b'], ['a', 'b']],
    ['null', null, undefined],
    ['empty', '', undefined],
    ['an empty list', [], undefined],
    ['a number', 5, undefined],
  ])('reads scopes that are %s', (_what, scope, expected) => {
    expect(readGrant(answer(200, { access_token: 'a', scope })).scopes).toEqual(expected);
  });

  it.each([
    ['a form', 'access_token=a&scope=repo%2Cuser&token_type=bearer'],
    ['JSON after a byte order mark', '\uFEFF{"access_token":"a","scope":"repo,user"}'],
  ])('reads a token in %s', (_what, body) => {
    expect(readGrant(answer(200, body))).toEqual({ accessToken: 'a', expiresInS: undefined, scopes: ['repo', 'user'] });
  });

  it.each<[string, number, unknown, [string, string]]>([
    ['a used code', 400, { error: 'invalid_grant', error_description: 'x' }, ['gone', 'invalid_grant']],
    ['a used code at GitHub', 200, { error: 'bad_verification_code' }, ['gone', 'bad_verification_code']],
    ['a revoked grant at GitHub', 200, { error: 'bad_refresh_token' }, ['gone', 'bad_refresh_token']],
    ['a used code at Slack', 200, { ok: false, error: 'code_already_used' }, ['gone', 'code_already_used']],
    ['an unknown client', 401, { error: 'invalid_client' }, ['refused', 'invalid_client']],
    ['a client without this right', 403, { error: 'unauthorized_client' }, ['refused', 'unauthorized_client']],
    ['a mismatch of the redirect URL', 200, { error: 'redirect_uri_mismatch' }, ['refused', 'redirect_uri_mismatch']],
    ['a body without an OAuth error', 403, { message: 'Forbidden' }, ['refused', 'status 403']],
    ['an error without a body', 401, '', ['refused', 'status 401']],
    ['a response without a token', 200, { ok: true }, ['refused', 'no token']],
    ['a token that is null', 200, { access_token: null, token_type: 'bearer' }, ['refused', 'no token']],
    ['a token that is empty', 200, { access_token: ' ' }, ['refused', 'no token']],
    [
      'a revoked grant whose other fields are odd',
      400,
      { error: 'invalid_grant', ok: null },
      ['gone', 'invalid_grant'],
    ],
    ['the page of a captive portal', 200, '<html>', ['unavailable', 'no JSON']],
    ['a page after blank lines', 200, '\uFEFF\n\n<!DOCTYPE html>', ['unavailable', 'no JSON']],
    ['text instead of tokens', 200, 'Sign in to continue', ['unavailable', 'no JSON']],
    ['an empty response', 200, '', ['unavailable', 'no JSON']],
    ['JSON of another form', 200, '[]', ['unavailable', 'no JSON']],
    ['null instead of tokens', 200, 'null', ['unavailable', 'no JSON']],
    ['a redirect to a captive portal', 302, '', ['unavailable', 'status 302']],
    ['a permanent redirect', 308, '<html>', ['unavailable', 'status 308']],
    ['the blocking page of a proxy', 403, '<html>Blocked</html>', ['unavailable', 'status 403']],
    ['text of a proxy', 403, 'Access denied', ['unavailable', 'status 403']],
    ['a proxy that requires authentication', 407, '', ['unavailable', 'status 407']],
    ['a network that requires authentication', 511, '<html>', ['unavailable', 'status 511']],
    ['a timeout', 408, '', ['unavailable', 'status 408']],
    ['too many requests', 429, { error: 'invalid_grant' }, ['unavailable', 'invalid_grant']],
    ['too many requests at Slack', 200, { ok: false, error: 'ratelimited' }, ['unavailable', 'ratelimited']],
    ['an unavailable server', 502, 'Bad gateway', ['unavailable', 'status 502']],
    ['an error that is free text', 400, { error: 'Token secret-123 is bad' }, ['refused', 'status 400']],
  ])('throws an OAuthFailure for %s', (_what, status, body, failure) => {
    expect(failureOf(() => readGrant(answer(status, body)))).toEqual(failure);
  });
});

describe('readRevocation', () => {
  it.each<[string, number, unknown]>([
    ['status 200', 200, ''],
    ['status 204', 204, ''],
    ['the confirmation of Slack', 200, { ok: true, revoked: true }],
    ['a token that is already invalid', 400, { error: 'invalid_token' }],
    ['a token that is already invalid at Slack', 200, { ok: false, error: 'token_revoked' }],
  ])('accepts %s', (_what, status, body) => {
    expect(failureOf(() => readRevocation(answer(status, body)))).toBeUndefined();
  });

  it.each<[string, number, unknown, [string, string]]>([
    ['an unavailable provider', 503, '', ['unavailable', 'status 503']],
    ['an unknown client', 401, { error: 'invalid_client' }, ['refused', 'invalid_client']],
    ['an address that does not exist', 404, 'Not found', ['refused', 'status 404']],
    ['the page of a captive portal', 200, '<html>', ['unavailable', 'status 200']],
    ['a redirect to a captive portal', 302, '', ['unavailable', 'status 302']],
  ])('throws an OAuthFailure for %s', (_what, status, body, failure) => {
    expect(failureOf(() => readRevocation(answer(status, body)))).toEqual(failure);
  });
});
