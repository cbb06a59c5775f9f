import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig, parseSigningKey, signAdminToken } from '@uswarm/service-kit';
import { ADMIN_KEY, createTestAdmin, type TestAdmin } from '../../../test/admin-client.js';
import { startTestOrchestrator, type TestOrchestrator, testEnvironment } from '../../../test/test-orchestrator.js';
import { OrchestratorConfig } from '../../config.js';

const keyOf = (name: string) => `${name}-1:a-key-of-${name}-for-the-tests-0123456789`;
const OPERATORS = [
  { operator: 'olivia', key: keyOf('olivia'), rights: ['show', 'ban', 'audit'] },
  { operator: 'oscar', key: keyOf('oscar'), rights: ['legal'] },
];

describe('named operators', () => {
  let uswarm: TestOrchestrator;
  let admin: TestAdmin;
  const logs: string[] = [];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { ADMIN_API_KEYS: JSON.stringify(OPERATORS), ADMIN_API_KEY: ADMIN_KEY },
      logTo: logs,
    });
    admin = createTestAdmin(uswarm);
  });
  afterAll(() => uswarm.close());

  const token = (key: string, name: string) => signAdminToken(parseSigningKey(key), name);
  const show = { user: 'unknown@example.com' };
  const refused = () =>
    logs
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ what }) => typeof what === 'string' && what.startsWith('admin '));

  it('are accepted under the name of their key', async () => {
    await expect(admin.refusal('user.show', show, await token(keyOf('olivia'), 'olivia'))).rejects.toThrow(
      'was not rejected',
    );
  });

  it('are rejected under the name of another operator, which is logged', async () => {
    expect(await admin.refusal('user.show', show, await token(keyOf('olivia'), 'oscar'))).toBe('token_invalid');
    expect(refused()).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        what: 'admin user.show',
        outcome: 'token_invalid',
        source: expect.stringMatching(/^[\da-f]{16}$/),
      }),
    );
  });

  it('are rejected without the right for a call', async () => {
    const ban = { user_id: crypto.randomUUID(), reason: 'spam' };
    expect(await admin.refusal('user.ban', ban, await token(keyOf('oscar'), 'oscar'))).toBe('operator_not_allowed');
    expect(await admin.refusal('user.ban', ban, await token(keyOf('olivia'), 'olivia'))).toBe('user_not_found');
    const plan = { user_id: crypto.randomUUID(), plan: 'pro', expires_at: null };
    expect(await admin.refusal('user.plan', plan, await token(keyOf('olivia'), 'olivia'))).toBe('operator_not_allowed');
  });

  it('are accepted in addition to the shared key, which accepts any name and has all rights', async () => {
    const ban = { user_id: crypto.randomUUID(), reason: 'spam' };
    expect(await admin.refusal('user.ban', ban, await token(ADMIN_KEY, 'anybody'))).toBe('user_not_found');
  });

  it.each([
    ['two keys with the same id', [OPERATORS[0], { ...OPERATORS[1], key: keyOf('olivia') }]],
    ['an unknown right', [{ ...OPERATORS[0], rights: ['everything'] }]],
    ['no rights', [{ ...OPERATORS[0], rights: [] }]],
    ['a short key', [{ ...OPERATORS[0], key: 'a:b' }]],
    ['a blank name', [{ ...OPERATORS[0], operator: ' ' }]],
    ['the name of a person at an issuer', [{ ...OPERATORS[0], operator: 'https://login.example.com#olivia' }]],
  ])('are rejected at start-up if they contain %s', (_what, keys) => {
    const environment = testEnvironment('postgres://localhost/x', uswarm.issuer);
    const read = () => loadConfig(OrchestratorConfig, { ...environment, ADMIN_API_KEYS: JSON.stringify(keys) });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/ADMIN_API_KEYS/);
  });
});
