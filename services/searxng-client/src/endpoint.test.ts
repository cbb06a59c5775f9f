import { describe, expect, it } from '@jest/globals';
import { resolveEndpoint } from './endpoint.js';

const env = { SVC_SEARCH_ENDPOINT: 'http://from-env:1' };

describe('resolveEndpoint', () => {
  it('TOOL-003: returns the address in the cluster by default', () => {
    expect(resolveEndpoint({ env: {} })).toBe('http://searxng.backend.svc.cluster.local:8080');
  });

  it('TOOL-004: returns SVC_SEARCH_ENDPOINT if it is set', () => {
    expect(resolveEndpoint({ env })).toBe('http://from-env:1');
  });

  it('TOOL-005: prefers the flag to the variable', () => {
    expect(resolveEndpoint({ flag: 'http://from-flag:2', env })).toBe('http://from-flag:2');
  });

  it('TOOL-030: returns an empty endpoint if it is explicitly empty', () => {
    expect(resolveEndpoint({ env: { SVC_SEARCH_ENDPOINT: '' } })).toBe('');
    expect(resolveEndpoint({ flag: '', env })).toBe('');
  });
});
