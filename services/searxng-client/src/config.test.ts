import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '@uswarm/service-kit';
import { loadSearchConfig } from './config.js';

const SVC_MCP_SIGNING_KEY = `k2:${'s'.repeat(32)}`;
const env = { SVC_MCP_SIGNING_KEY };

describe('loadSearchConfig', () => {
  it('TOOL-003: requires only the signing key', () => {
    expect(loadSearchConfig(env, [])).toMatchObject({
      endpoint: 'http://searxng.backend.svc.cluster.local:8080',
      keys: [{ id: 'k2' }],
      port: 8080,
      opsPort: 8081,
    });
  });

  it('TOOL-004 TOOL-005: prefers the endpoint of the flag to the variable', () => {
    const withVariable = { ...env, SVC_SEARCH_ENDPOINT: 'http://v:1' };
    expect(loadSearchConfig(withVariable, []).endpoint).toBe('http://v:1');
    expect(loadSearchConfig(withVariable, ['--searxng-endpoint', 'http://f:2']).endpoint).toBe('http://f:2');
  });

  it('TOOL-030: keeps an explicitly empty endpoint', () => {
    expect(loadSearchConfig({ ...env, SVC_SEARCH_ENDPOINT: '' }, []).endpoint).toBe('');
  });

  it('accepts a second key with another id for a rotation', () => {
    const previous = `k1:${'p'.repeat(32)}`;
    const { keys } = loadSearchConfig({ ...env, SVC_MCP_SIGNING_KEY_PREVIOUS: previous }, []);
    expect(keys.map(({ id }) => id)).toEqual(['k2', 'k1']);
    const sameId = { ...env, SVC_MCP_SIGNING_KEY_PREVIOUS: `k2:${'p'.repeat(32)}` };
    expect(() => loadSearchConfig(sameId, [])).toThrow(ConfigError);
  });

  it('reads credentials of SearXNG, which may be files', () => {
    expect(loadSearchConfig(env, []).credentials).toBeUndefined();
    const both = { ...env, SVC_SEARCH_USERNAME: 'user', SVC_SEARCH_PASSWORD: 'hunter2' };
    expect(loadSearchConfig(both, []).credentials).toEqual({ username: 'user', password: 'hunter2' });
    const unreadable = { ...env, SVC_SEARCH_PASSWORD_FILE: '/none' };
    expect(() => loadSearchConfig(unreadable, [])).toThrow('SVC_SEARCH_PASSWORD_FILE cannot be read');
  });

  it.each([
    ['no key', {}, 'SVC_MCP_SIGNING_KEY is not set'],
    ['a short key', { SVC_MCP_SIGNING_KEY: 'k1:short' }, 'at least 32 bytes'],
    ['a port that is none', { ...env, HTTP_PORT: '99999' }, 'HTTP_PORT is not valid'],
  ])('stops the start with %s', (_, bad, text) => {
    expect(() => loadSearchConfig(bad, [])).toThrow(text);
  });

  it('rejects an unknown flag', () => {
    expect(() => loadSearchConfig(env, ['--endpoint', 'x'])).toThrow(ConfigError);
  });
});
