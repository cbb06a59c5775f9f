import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { specs } from '../../test/arbitraries.js';
import { testSettings, userSwarm } from '../../test/webhook-input.js';
import { runtimePods } from '../config/runtime-pods.js';
import { platformRevision } from './platform-revision.js';
import { specRevision } from './revision.js';

const revisionWith = (spec: object): string => specRevision(userSwarm(spec as Record<string, unknown>).spec);

describe('specRevision', () => {
  it('ignores suspend', () => {
    fc.assert(
      fc.property(specs, (spec) => {
        expect(revisionWith({ ...spec, suspend: true })).toBe(revisionWith({ ...spec, suspend: false }));
      }),
    );
  });

  it('changes with every other field of the spec', () => {
    const variants = [
      {},
      { userId: 'another' },
      { placement: { runtimeNamespace: 'elsewhere' } },
      { runtime: { image: 'x' } },
      { runtime: { port: 1 } },
      { runtime: { resources: { limits: { cpu: '1' } } } },
      { runtime: { resources: { requests: { cpu: '1' } } } },
      { config: { defaultModel: 'm' } },
      { config: { envSecretRef: { name: 'workspace-a-env' } } },
    ];
    expect(new Set(variants.map((spec) => revisionWith(spec))).size).toBe(variants.length);
  });

  it('ignores explicit default values and the order of fields', () => {
    const { spec } = userSwarm();
    const base = specRevision(spec);
    expect(specRevision({ ...spec, config: {} })).toBe(base);
    expect(
      specRevision(userSwarm({ runtime: { port: 42_618 }, placement: { runtimeNamespace: 'userswarms' } }).spec),
    ).toBe(base);
    const config = { defaultProvider: 'p', defaultModel: 'm' };
    const reordered = { defaultModel: 'm', defaultProvider: 'p' };
    expect(specRevision({ ...spec, config: reordered })).toBe(specRevision({ ...spec, config }));
  });
});

describe('platformRevision', () => {
  const revision = (overrides: Parameters<typeof testSettings>[0]): string => platformRevision(testSettings(overrides));

  it('changes with the image, the call key, the stores and the pod settings', () => {
    const revisions = [
      revision({}),
      revision({ image: 'registry.test/runtime:2' }),
      revision({ callPublicKey: 'another' }),
      revision({ stores: [{ name: 'SVC_REDIS_ADDR', value: 'valkey.test:6379' }] }),
      revision({ pods: runtimePods.parse({ resources: { limits: { memory: '1Gi' } } }) }),
      revision({ pods: runtimePods.parse({ extraEnv: [{ name: 'TZ', value: 'UTC' }] }) }),
    ];
    expect(new Set(revisions).size).toBe(revisions.length);
  });

  it('ignores settings that do not affect pods', () => {
    const policy = { ...testSettings().policy, imagePrefixes: [] };
    expect(revision({ policy })).toBe(revision({}));
  });
});
