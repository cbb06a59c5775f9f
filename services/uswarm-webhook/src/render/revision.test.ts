import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { specs } from '../../test/arbitraries.js';
import { testSettings, userSwarm } from '../../test/webhook-input.js';
import { runtimePods } from '../config/runtime-pods.js';
import { platformRevision } from './platform-revision.js';
import { specRevision } from './revision.js';

const of = (spec: object): string => specRevision(userSwarm(spec as Record<string, unknown>).spec);

describe('the revision of a specification', () => {
  it('is the same whether it is suspended or not', () => {
    fc.assert(
      fc.property(specs, (spec) => {
        expect(of({ ...spec, suspend: true })).toBe(of({ ...spec, suspend: false }));
      }),
    );
  });

  it('is another one for anything else that its author says', () => {
    const said = [
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
    expect(new Set(said.map((spec) => of(spec))).size).toBe(said.length);
  });

  it('does not change with a field that a later version adds with a default, nor with the order of fields', () => {
    const { spec } = userSwarm();
    const usual = specRevision(spec);
    expect(specRevision({ ...spec, config: {} })).toBe(usual);
    expect(
      specRevision(userSwarm({ runtime: { port: 42_618 }, placement: { runtimeNamespace: 'userswarms' } }).spec),
    ).toBe(usual);
    const config = { defaultProvider: 'p', defaultModel: 'm' };
    const turned = { defaultModel: 'm', defaultProvider: 'p' };
    expect(specRevision({ ...spec, config: turned })).toBe(specRevision({ ...spec, config }));
  });
});

describe('the revision of the platform', () => {
  const revision = (overrides: Parameters<typeof testSettings>[0]): string => platformRevision(testSettings(overrides));

  it('is another one with another image, call key, or setting of pods', () => {
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

  it('stays with a setting that no pod sees', () => {
    const policy = { ...testSettings().policy, imagePrefixes: [] };
    expect(revision({ policy })).toBe(revision({}));
  });
});
