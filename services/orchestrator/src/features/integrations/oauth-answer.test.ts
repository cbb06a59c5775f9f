import { describe, expect, it } from '@jest/globals';
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
    expect(readGrant(answer(200, body))).toEqual(grant);
  });

  it.each<[string, number, unknown, [string, string]]>([
    ['a used code', 400, { error: 'invalid_grant', error_description: 'x' }, ['gone', 'invalid_grant']],
    ['a used code at GitHub', 200, { error: 'bad_verification_code' }, ['gone', 'bad_verification_code']],
    ['a used code at Slack', 200, { ok: false, error: 'code_already_used' }, ['gone', 'code_already_used']],
    ['an unknown client', 401, { error: 'invalid_client' }, ['refused', 'invalid_client']],
    ['a mismatch of the redirect URL', 200, { error: 'redirect_uri_mismatch' }, ['refused', 'redirect_uri_mismatch']],
    ['a body without an OAuth error', 403, 'Forbidden', ['refused', 'status 403']],
    ['an HTML page instead of tokens', 200, '<html>', ['refused', 'no token']],
    ['a redirect', 302, '', ['refused', 'status 302']],
    ['too many requests', 429, { error: 'invalid_grant' }, ['unavailable', 'invalid_grant']],
    ['too many requests at Slack', 200, { ok: false, error: 'ratelimited' }, ['unavailable', 'ratelimited']],
    ['an unavailable server', 502, 'Bad gateway', ['unavailable', 'status 502']],
    ['an error that is free text', 400, { error: 'Token secret-123 is bad' }, ['refused', 'status 400']],
  ])('throws an OAuthFailure for %s', (_what, status, body, failure) => {
    expect(failureOf(() => readGrant(answer(status, body)))).toEqual(failure);
  });

  it('treats additional error codes of a provider as a revoked grant', () => {
    const refused = answer(403, { error: 'unauthorized_client' });
    expect(failureOf(() => readGrant(refused))).toEqual(['refused', 'unauthorized_client']);
    expect(failureOf(() => readGrant(refused, ['unauthorized_client']))).toEqual(['gone', 'unauthorized_client']);
  });
});

describe('readRevocation', () => {
  it.each<[string, number, unknown, number[]]>([
    ['status 200', 200, '', []],
    ['the confirmation of Slack', 200, { ok: true, revoked: true }, []],
    ['the confirmation of GitHub', 204, '', []],
    ['a token that is already invalid', 400, { error: 'invalid_token' }, []],
    ['a token that is already invalid at Slack', 200, { ok: false, error: 'token_revoked' }, []],
    ['a token that is already invalid at GitHub', 422, { message: 'Validation Failed' }, [404, 422]],
  ])('accepts %s', (_what, status, body, alreadyRevokedStatuses) => {
    expect(failureOf(() => readRevocation(answer(status, body), alreadyRevokedStatuses))).toBeUndefined();
  });

  it.each<[string, number, unknown, [string, string]]>([
    ['an unavailable provider', 503, '', ['unavailable', 'status 503']],
    ['an unknown client', 401, { error: 'invalid_client' }, ['refused', 'invalid_client']],
    ['an address that does not exist', 404, 'Not found', ['refused', 'status 404']],
  ])('throws an OAuthFailure for %s', (_what, status, body, failure) => {
    expect(failureOf(() => readRevocation(answer(status, body)))).toEqual(failure);
  });
});
