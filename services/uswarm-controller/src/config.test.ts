import { describe, expect, it } from '@jest/globals';
import { loadControllerConfig } from './config.js';

const ENV = {
  SYNC_URL: 'http://uswarm-webhook:8080/sync',
  SYNC_TOKEN: 'x'.repeat(32),
  RUNTIME_NAMESPACES: 'userswarms, other,,userswarms',
  LEASE_NAMESPACE: 'backend',
  POD_NAME: 'pod-1',
};

describe('the configuration of the controller', () => {
  it('has defaults for all optional settings', () => {
    expect(loadControllerConfig(ENV)).toEqual({
      SYNC_URL: ENV.SYNC_URL,
      SYNC_TOKEN: ENV.SYNC_TOKEN,
      SYNC_TIMEOUT_MS: 10_000,
      RUNTIME_NAMESPACES: ['userswarms', 'other'],
      RESYNC_S: 30,
      WORKERS: 16,
      ROLLOUT_MAX_CONCURRENT: 5,
      ROLLOUT_DEADLINE_S: 86_400,
      ROLLOUT_MAX_FAILURES: 3,
      START_MAX_CONCURRENT: 100,
      LEADER_ELECTION: true,
      LEASE_NAMESPACE: 'backend',
      LEASE_NAME: 'uswarm-controller',
      POD_NAME: 'pod-1',
      EVENTS_NAMESPACE: 'default',
      OPS_PORT: 8081,
    });
  });

  it.each([
    ['SYNC_URL', { SYNC_URL: '' }],
    ['SYNC_URL', { SYNC_URL: 'ftp://webhook/sync' }],
    ['SYNC_TOKEN', { SYNC_TOKEN: 'short' }],
    ['RUNTIME_NAMESPACES', { RUNTIME_NAMESPACES: ' , ' }],
    ['RUNTIME_NAMESPACES', { RUNTIME_NAMESPACES: 'Not_A_Name' }],
    ['RESYNC_S', { RESYNC_S: '0' }],
    ['ROLLOUT_FORCED_BEFORE', { ROLLOUT_FORCED_BEFORE: 'tomorrow' }],
    ['WORKERS', { WORKERS: 'many' }],
    ['LEASE_NAMESPACE', { LEASE_NAMESPACE: '' }],
    ['POD_NAME', { POD_NAME: '' }],
  ])('reports an invalid %s by name', (name, change) => {
    expect(() => loadControllerConfig({ ...ENV, ...change })).toThrow(name);
  });

  it('trims the line break at the end of SYNC_TOKEN', () => {
    expect(loadControllerConfig({ ...ENV, SYNC_TOKEN: `${ENV.SYNC_TOKEN}\n` }).SYNC_TOKEN).toBe(ENV.SYNC_TOKEN);
  });

  it('requires no lease without leader election', () => {
    const alone = { ...ENV, LEADER_ELECTION: 'false', LEASE_NAMESPACE: '', POD_NAME: '' };
    expect(loadControllerConfig(alone).LEADER_ELECTION).toBe(false);
  });

  it('never prints a value', () => {
    expect(() => loadControllerConfig({ ...ENV, SYNC_TOKEN: 'hunter2' })).not.toThrow('hunter2');
  });
});
