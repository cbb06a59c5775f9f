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

describe('what a token endpoint grants', () => {
  it.each([
    [
      'OAuth has it',
      { access_token: 'a', refresh_token: 'r', expires_in: 3600, token_type: 'bearer' },
      { accessToken: 'a', refreshToken: 'r', expiresInS: 3600 },
    ],
    [
      'GitHub has it: a token for good',
      { access_token: 'a', scope: 'repo' },
      { accessToken: 'a', expiresInS: undefined },
    ],
    [
      'Slack has it: the token of the user one level down',
      { ok: true, authed_user: { id: 'U1', access_token: 'xoxp', refresh_token: 'xoxe', expires_in: 43_200 } },
      { accessToken: 'xoxp', refreshToken: 'xoxe', expiresInS: 43_200 },
    ],
    [
      'Notion has it: null for what there is not',
      { access_token: 'a', refresh_token: 'r', expires_in: null, bot_id: 'b' },
      { accessToken: 'a', refreshToken: 'r', expiresInS: undefined },
    ],
    [
      'somebody has it who writes numbers as texts',
      { access_token: 'a', expires_in: '60' },
      { accessToken: 'a', expiresInS: 60 },
    ],
  ])('is read as %s', (_who, body, grant) => {
    expect(readGrant(answer(200, body))).toEqual(grant);
  });

  it.each<[string, number, unknown, [string, string]]>([
    ['a code that is spent', 400, { error: 'invalid_grant', error_description: 'x' }, ['gone', 'invalid_grant']],
    ['the same, as GitHub says it', 200, { error: 'bad_verification_code' }, ['gone', 'bad_verification_code']],
    ['the same, as Slack says it', 200, { ok: false, error: 'code_already_used' }, ['gone', 'code_already_used']],
    ['a client that is not known', 401, { error: 'invalid_client' }, ['refused', 'invalid_client']],
    ['another address to come back to', 200, { error: 'redirect_uri_mismatch' }, ['refused', 'redirect_uri_mismatch']],
    ['no word of ours', 403, 'Forbidden', ['refused', 'status 403']],
    ['a page in place of tokens', 200, '<html>', ['refused', 'no token']],
    ['a redirect', 302, '', ['refused', 'status 302']],
    ['too many requests', 429, { error: 'invalid_grant' }, ['unavailable', 'invalid_grant']],
    ['the same, as Slack says it', 200, { ok: false, error: 'ratelimited' }, ['unavailable', 'ratelimited']],
    ['a server that is down', 502, 'Bad gateway', ['unavailable', 'status 502']],
    ['an error that is a text of its own', 400, { error: 'Token secret-123 is bad' }, ['refused', 'status 400']],
  ])('is nothing: %s', (_what, status, body, failure) => {
    expect(failureOf(() => readGrant(answer(status, body)))).toEqual(failure);
  });

  it('a provider may have words of its own for a grant that is gone', () => {
    const refused = answer(403, { error: 'unauthorized_client' });
    expect(failureOf(() => readGrant(refused))).toEqual(['refused', 'unauthorized_client']);
    expect(failureOf(() => readGrant(refused, ['unauthorized_client']))).toEqual(['gone', 'unauthorized_client']);
  });
});

describe('a token is revoked', () => {
  it.each<[string, number, unknown, number[]]>([
    ['when the provider says so', 200, '', []],
    ['when Slack says so', 200, { ok: true, revoked: true }, []],
    ['when GitHub says so', 204, '', []],
    ['when it was none any more', 400, { error: 'invalid_token' }, []],
    ['when Slack says that it was none any more', 200, { ok: false, error: 'token_revoked' }, []],
    ['when GitHub says that it was none any more', 422, { message: 'Validation Failed' }, [404, 422]],
  ])('%s', (_when, status, body, goneStatus) => {
    expect(failureOf(() => readRevocation(answer(status, body), goneStatus))).toBeUndefined();
  });

  it.each<[string, number, unknown, [string, string]]>([
    ['while the provider is down', 503, '', ['unavailable', 'status 503']],
    ['when we are not known there', 401, { error: 'invalid_client' }, ['refused', 'invalid_client']],
    ['at an address that is not there', 404, 'Not found', ['refused', 'status 404']],
  ])('not %s', (_when, status, body, failure) => {
    expect(failureOf(() => readRevocation(answer(status, body)))).toEqual(failure);
  });
});
