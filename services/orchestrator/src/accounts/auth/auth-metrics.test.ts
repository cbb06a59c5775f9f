import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { Registry } from '@uswarm/service-kit';
import { createOutgoing, DIRECT } from '@uswarm/service-kit/outgoing';
import type { Identity } from './actor.js';
import { createAuthMetrics } from './auth-metrics.js';
import { createOidcVerifier } from './oidc-verifier.js';

const identity: Identity = {
  issuer: 'main',
  subject: 's',
  email: '',
  name: '',
  expiresAt: null,
  issuedAt: null,
  authenticatedAt: null,
};

describe('the metrics of identity providers', () => {
  it('count valid, invalid and unchecked tokens', async () => {
    const registry = new Registry();
    const answers: (() => Promise<Identity>)[] = [
      async () => identity,
      () => Promise.reject(new ApiError('token_expired')),
      () => Promise.reject(new ApiError('service_unavailable')),
    ];
    const verifier = createAuthMetrics(registry, ['main']).measure({ verify: () => answers.shift()!() });
    for (let left = answers.length; left > 0; left -= 1) await verifier.verify('t').catch(() => undefined);
    const text = await registry.metrics();
    for (const outcome of ['accepted', 'refused', 'failed']) {
      expect(text).toContain(`uswarm_token_checks_total{outcome="${outcome}"} 1\n`);
    }
  });

  it('count each failed fetch, including the discovery', async () => {
    const registry = new Registry();
    const metrics = createAuthMetrics(registry, ['main', 'other']);
    const issuer = 'http://127.0.0.1:1';
    const verifier = createOidcVerifier({
      outgoing: createOutgoing(DIRECT),
      issuers: [{ id: 'main', issuer, audience: 'app' }],
      cooldownMs: 0,
      clockToleranceS: 0,
      onFetch: metrics.fetchedKeys,
    });
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: issuer, aud: 'app', sub: 's', exp: 9e9 })}.AAAA`;
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'service_unavailable' });
    const text = await registry.metrics();
    expect(text).toContain('uswarm_jwks_fetches_total{issuer="main",outcome="failed"} 1\n');
    expect(text).toContain('uswarm_jwks_fetches_total{issuer="other",outcome="failed"} 0\n');
  });
});
