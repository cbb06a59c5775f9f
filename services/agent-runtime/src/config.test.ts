import { generateCallKeys, loadConfig } from '@uswarm/service-kit';
import { describe, expect, it } from '@jest/globals';
import { configSchema } from './config.js';

const { publicKey } = generateCallKeys();
const needed = { USWARM_WORKSPACE_ID: 'w', USWARM_USER_ID: 'u', USWARM_CALL_PUBLIC_KEY: publicKey };
const load = (env: Record<string, string> = {}) => loadConfig(configSchema, { ...needed, ...env });

describe('the configuration of a runtime', () => {
  it('requires only the workspace, the user and the public key', () => {
    expect(load()).toMatchObject({ port: 42_618, host: undefined, provider: 'demo', mcp: undefined, idleExitMs: 0 });
    expect(() => loadConfig(configSchema, {})).toThrow(
      'USWARM_WORKSPACE_ID is not set\nUSWARM_USER_ID is not set\nUSWARM_CALL_PUBLIC_KEY is not set',
    );
  });

  it('accepts a key with escaped line breaks', () => {
    const { callPublicKey } = load({ USWARM_CALL_PUBLIC_KEY: publicKey.replaceAll('\n', '\\n') });
    expect(callPublicKey.equals(load().callPublicKey)).toBe(true);
  });

  it('rejects an invalid key without showing it', () => {
    expect(() => load({ USWARM_CALL_PUBLIC_KEY: 'hunter2' })).toThrow(
      'USWARM_CALL_PUBLIC_KEY is not valid: must be an Ed25519 public key in PEM form',
    );
  });

  it.each([
    [{}, 'demo'],
    [{ OPENAI_API_KEY: 'k' }, 'openai'],
    [{ OPENAI_BASE_URL: 'http://localhost:11434/v1' }, 'openai'],
    [{ OPENAI_API_KEY: 'k', USWARM_DEFAULT_PROVIDER: 'demo' }, 'demo'],
    [{ OPENAI_API_KEY: '' }, 'demo'],
  ])('selects the provider: %j selects %s', (env, provider) => {
    expect(load(env).provider).toBe(provider);
  });
});
