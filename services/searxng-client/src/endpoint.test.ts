import { describe, expect, it } from '@jest/globals';
import { resolveEndpoint } from './endpoint.js';

const env = { SVC_SEARCH_ENDPOINT: 'http://from-env:1' };

describe('resolveEndpoint', () => {
  it('TOOL-003: is the address in the cluster when nothing is set', () => {
    expect(resolveEndpoint({ env: {} })).toBe('http://searxng.backend.svc.cluster.local:8080');
  });

  it('TOOL-004: is overridden by SVC_SEARCH_ENDPOINT', () => {
    expect(resolveEndpoint({ env })).toBe('http://from-env:1');
  });

  it('TOOL-005: is overridden by the flag, which beats the variable', () => {
    expect(resolveEndpoint({ flag: 'http://from-flag:2', env })).toBe('http://from-flag:2');
  });

  it('TOOL-030: stays empty where it was set to nothing', () => {
    expect(resolveEndpoint({ env: { SVC_SEARCH_ENDPOINT: '' } })).toBe('');
    expect(resolveEndpoint({ flag: '', env })).toBe('');
  });
});
