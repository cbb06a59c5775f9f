import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '@uswarm/service-kit';
import { loadCleanupConfig, loadDrainConfig, loadFinishConfig } from './config.js';

const ENVIRONMENT = { DRAIN_FLAG: 'backend/uswarm-drain', DRAIN_RUN: 'job', RUNTIME_NAMESPACES: 'userswarms,team-a' };

describe('the configuration of a drain', () => {
  it('requires the flag and the namespaces and has default times', () => {
    expect(loadDrainConfig(ENVIRONMENT)).toEqual({
      DRAIN_FLAG: { namespace: 'backend', name: 'uswarm-drain' },
      DRAIN_RUN: 'job',
      RUNTIME_NAMESPACES: ['userswarms', 'team-a'],
      DRAIN_GRACE_S: 60,
      DRAIN_TIMEOUT_S: 240,
      DRAIN_KEEPS: '',
    });
  });

  it.each([
    ['DRAIN_FLAG', 'uswarm-drain'],
    ['DRAIN_FLAG', 'a/b/c'],
    ['DRAIN_RUN', ''],
    ['RUNTIME_NAMESPACES', ''],
    ['DRAIN_TIMEOUT_S', '0'],
  ])('rejects %s=%s', (name, value) => {
    expect(() => loadDrainConfig({ ...ENVIRONMENT, [name]: value })).toThrow(ConfigError);
    expect(() => loadDrainConfig({ ...ENVIRONMENT, [name]: value })).toThrow(name);
  });
});

it('reads the optional Lease of the controller for the finish step', () => {
  expect(loadFinishConfig({ CONTROLLER_LEASE: 'backend/uswarm-controller' })).toEqual({
    CONTROLLER_LEASE: { namespace: 'backend', name: 'uswarm-controller' },
  });
  expect(loadFinishConfig({})).toEqual({});
});

it('requires the components of the release for the cleanup step', () => {
  const environment = { RELEASE_NAMESPACE: 'backend', RELEASE_COMPONENTS: 'uswarm-orchestrator,uswarm-webhook' };
  expect(loadCleanupConfig(environment)).toEqual({
    RELEASE_NAMESPACE: 'backend',
    RELEASE_COMPONENTS: ['uswarm-orchestrator', 'uswarm-webhook'],
    DRAIN_TIMEOUT_S: 240,
  });
  expect(() => loadCleanupConfig({ ...environment, RELEASE_COMPONENTS: '' })).toThrow('RELEASE_COMPONENTS');
});
