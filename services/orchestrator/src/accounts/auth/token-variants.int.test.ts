import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL_PATHS } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { type KeyIssuer, type KeyIssuerAlgorithm, startKeyIssuer, tokenVariants } from '@uswarm/dev-servers';
import { request } from 'undici';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const PROFILE = '/v1/users/profile';
const REFUSALS: Record<string, string> = {
  respelled: 'token_invalid',
  blank: 'token_invalid',
  negated: 'token_revoked',
};

describe.each<KeyIssuerAlgorithm>(['RS256', 'ES256'])('variants of a token signed with %s', (algorithm) => {
  let issuer: KeyIssuer;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    issuer = await startKeyIssuer(algorithm);
    const issuers = [{ id: 'keys', issuer: issuer.issuer, audience: 'app' }];
    uswarm = await startTestOrchestrator({ environment: { OIDC_ISSUERS: JSON.stringify(issuers) } });
  });
  afterAll(() => Promise.all([uswarm.close(), issuer.close()]));

  const by = (token: string) => uswarm.anonymous.with({ 'x-token': token });
  async function signedUp(): Promise<string> {
    const token = await issuer.issueToken({ claims: { aud: 'app', sub: crypto.randomUUID() } });
    await by(token).post('/v1/auth/sign-up', undefined, 204);
    return token;
  }
  async function atHandshake(token: string): Promise<unknown> {
    const service = await signInternalToken(parseSigningKey(uswarm.internalKey), 'gateway');
    const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${service}` },
      body: JSON.stringify({ credentials: { 'x-token': token } }),
    });
    return ((await answer.body.json()) as { code?: string }).code;
  }

  it('are rejected on REST and at the handshake of a socket after the logout of the token', async () => {
    const token = await signedUp();
    const variants = Object.entries(tokenVariants(token, algorithm));
    await by(token).post('/v1/auth/logout', undefined, 204);
    for (const [variant, text] of variants) {
      const code = REFUSALS[variant];
      expect({ variant, refusal: await by(text).refusal('GET', PROFILE) }).toEqual({ variant, refusal: code });
      expect({ variant, refusal: await by(text).refusal('DELETE', '/v1/auth/delete') }).toEqual({
        variant,
        refusal: code,
      });
      expect({ variant, refusal: await atHandshake(text) }).toEqual({ variant, refusal: code });
    }
  });

  it('are rejected before the logout too, unless the encoding is canonical', async () => {
    const token = await signedUp();
    const codes: Record<string, unknown> = {};
    for (const [variant, text] of Object.entries(tokenVariants(token, algorithm))) {
      const { status, body } = await by(text).raw<{ code?: string }>({ method: 'GET', path: PROFILE });
      codes[variant] = body?.code ?? status;
    }
    const refused = { respelled: 'token_invalid', blank: 'token_invalid' };
    expect(codes).toEqual(algorithm === 'ES256' ? { ...refused, negated: 200 } : refused);
  });

  it('revoke the original token on logout', async () => {
    const token = await signedUp();
    const { negated } = tokenVariants(token, algorithm);
    await by(negated ?? token).post('/v1/auth/logout', undefined, 204);
    expect(await by(token).refusal('GET', PROFILE)).toBe('token_revoked');
  });
});
