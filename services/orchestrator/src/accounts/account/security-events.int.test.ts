import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL_PATHS } from '@uswarm/contract';
import { createSourceName, parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import type { OAuthServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import { authorized, CALLBACK, integrationEnvironment, startProviderServer } from '../../../test/integrations.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

interface Line extends Record<string, unknown> {
  route?: string;
  identity?: string;
}

describe('security events of an account', () => {
  let server: OAuthServer;
  let uswarm: TestOrchestrator;
  const logs: string[] = [];
  beforeAll(async () => {
    server = await startProviderServer();
    uswarm = await startTestOrchestrator({ environment: integrationEnvironment(server), logTo: logs });
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  const lines = (): Line[] => logs.map((line) => JSON.parse(line) as Line);
  const sourceOf = (address: string) => createSourceName(uswarm.internalKey, 'hash')(address);
  const linesOf = (identity: string) => lines().filter((line) => line.identity === identity);

  it('are stored in the audit log with actor, action and source, also after the account is deleted', async () => {
    const user = await uswarm.user();
    await user.post('/v1/auth/sign-in', undefined, 204);
    await user.post(CALLBACK, await authorized(user, server, 'gmail'), 204);
    await user.delete('/v1/integrations/gmail', undefined, 204);
    const { id: userId } = await uswarm.database
      .selectFrom('users')
      .select('id')
      .where('email', '=', user.email)
      .executeTakeFirstOrThrow();
    const entries = await uswarm.database
      .selectFrom('audit_log')
      .select(['actor', 'action', 'user_id', 'details', 'identity_hash'])
      .where('user_id', '=', userId)
      .orderBy('id')
      .execute();
    const source = sourceOf('127.0.0.1');
    const own = { actor: 'user', user_id: userId };
    const provider = 'gmail';
    expect(entries).toEqual([
      { ...own, action: 'account.sign_up', details: { source }, identity_hash: expect.any(Buffer) },
      { ...own, action: 'account.sign_in', details: { source }, identity_hash: expect.any(Buffer) },
      { ...own, action: 'integration.connect', details: { provider, source }, identity_hash: null },
      { ...own, action: 'integration.disconnect', details: { provider, source }, identity_hash: null },
    ]);
    const hash = entries[0]?.identity_hash ?? Buffer.alloc(0);
    await endAndDelete(user);
    const after = await uswarm.database
      .selectFrom('audit_log')
      .select(['action', 'user_id', 'details'])
      .where('identity_hash', '=', hash)
      .orderBy('id')
      .execute();
    // Account deletion clears every source except its own.
    const gone = { user_id: null, details: {} };
    expect(after).toEqual([
      { action: 'account.sign_up', ...gone },
      { action: 'account.sign_in', ...gone },
      { action: 'account.logout', ...gone },
      { action: 'account.logout_all', ...gone },
      { action: 'account.delete', user_id: null, details: { source } },
    ]);
  });

  async function endAndDelete({ email, name }: TestUser): Promise<void> {
    const again = async (issuedInSeconds: number) => {
      const claims = { jti: crypto.randomUUID() };
      const token = await uswarm.issuer.issueToken({ email, name, issuedInSeconds, claims });
      return uswarm.anonymous.with({ 'x-token': token });
    };
    await (await again(0)).post('/v1/auth/logout', undefined, 204);
    await (await again(0)).post('/v1/auth/logout-all', undefined, 204);
    await (await again(60)).delete('/v1/auth/delete', {}, 204);
  }

  it('are logged with a hash of the identity and a hash of the address', async () => {
    const user = await uswarm.user();
    const { identity_hash } = await uswarm.database
      .selectFrom('audit_log')
      .select('identity_hash')
      .where('action', '=', 'account.sign_up')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow();
    const identity = identity_hash?.toString('hex') ?? '';
    await user.post('/v1/auth/logout', undefined, 204);
    const seen = await eventually(() => linesOf(identity).filter(({ msg }) => msg === 'request'), {
      until: (found) => found.length === 2,
    });
    expect(seen).toEqual([
      expect.objectContaining({ route: 'signUp', status: 204, source: sourceOf('127.0.0.1') }),
      expect.objectContaining({ route: 'logout', status: 204, source: sourceOf('127.0.0.1') }),
    ]);

    // The first rejection logs a warning; the next hundred are only counted.
    for (let n = 0; n < 100; n += 1) await user.refusal('GET', '/v1/users/profile');
    const warnings = linesOf(identity).filter(({ level }) => level === 'warn');
    expect(warnings).toEqual([
      expect.objectContaining({
        what: 'credential',
        outcome: 'token_revoked',
        via: 'rest',
        source: sourceOf('127.0.0.1'),
        msg: 'refused',
      }),
    ]);
  });

  it('are logged with the address from the gateway at the handshake of a socket', async () => {
    const service = await signInternalToken(parseSigningKey(uswarm.internalKey), 'gateway');
    await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${service}`,
        'x-forwarded-for': '198.51.100.7',
      },
      body: JSON.stringify({ credentials: { 'x-token': 'not-a-token' } }),
    });
    expect(lines()).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        what: 'credential',
        outcome: 'token_invalid',
        via: 'socket',
        source: sourceOf('198.51.100.7'),
      }),
    );
    expect(logs.join('')).not.toContain('198.51.100.7');
  });

  it('are logged with the plain address if LOG_SOURCE_ADDRESS is plain', async () => {
    const plain: string[] = [];
    const other = await startTestOrchestrator({ environment: { LOG_SOURCE_ADDRESS: 'plain' }, logTo: plain });
    try {
      await other.anonymous.with({ 'x-token': 'not-a-token' }).refusal('GET', '/v1/users/profile');
      expect(plain.map((line) => JSON.parse(line) as Line)).toContainEqual(
        expect.objectContaining({ level: 'warn', outcome: 'token_invalid', source: '127.0.0.1' }),
      );
    } finally {
      await other.close();
    }
  });
});
