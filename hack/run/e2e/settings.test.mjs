import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { cacheFolder, clusterName, readSettings } from './settings.mjs';

describe('npm run e2e', () => {
  let folder;
  let kubeconfig;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-settings-'));
    kubeconfig = join(folder, 'config');
    writeFileSync(kubeconfig, '');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('creates a cluster, may disrupt it and runs the core tests by default', () => {
    expect(readSettings([], {})).toEqual({
      all: false,
      keep: false,
      nodes: 1,
      patterns: [],
      given: undefined,
      choice: 'auto',
      disruptive: true,
      ci: false,
    });
  });

  it('does not use a cluster that only KUBECONFIG names', () => {
    expect(readSettings([], { KUBECONFIG: kubeconfig }).given).toBeUndefined();
  });

  it('uses the cluster of E2E_CONTEXT, and disrupts it only with E2E_DISRUPTIVE=1', () => {
    const env = { KUBECONFIG: kubeconfig, E2E_CONTEXT: 'mine' };
    expect(readSettings([], env)).toMatchObject({ given: { kubeconfig, context: 'mine' }, disruptive: false });
    expect(readSettings([], { ...env, E2E_DISRUPTIVE: '0' }).disruptive).toBe(false);
    expect(readSettings([], { ...env, E2E_DISRUPTIVE: '1' }).disruptive).toBe(true);
    expect(readSettings([], { E2E_DISRUPTIVE: '0' }).disruptive).toBe(false);
  });

  it('accepts patterns, --keep and --all, and rejects unknown options and values', () => {
    expect(readSettings(['--keep', 'crd', 'phases'], {})).toMatchObject({ keep: true, patterns: ['crd', 'phases'] });
    expect(readSettings(['--all'], {})).toMatchObject({ all: true, keep: false, patterns: [] });
    expect(() => readSettings(['--nothing'], {})).toThrow(/--nothing[^]*Usage: npm run e2e -- /);
    expect(() => readSettings([], { E2E_CLUSTER: 'docker' })).toThrow('E2E_CLUSTER must be one of auto, kind, built.');
    expect(() => readSettings([], { KUBECONFIG: '/nowhere/config', E2E_CONTEXT: 'x' })).toThrow('/nowhere/config');
  });

  it('accepts three nodes for its own cluster only', () => {
    expect(readSettings(['--nodes', '3'], {})).toMatchObject({ nodes: 3, all: false });
    expect(() => readSettings(['--nodes', '2'], {})).toThrow('--nodes must be one of 1, 3.');
    expect(() => readSettings(['--nodes', '3', '--all'], {})).toThrow('cannot be used with --all');
    const env = { KUBECONFIG: kubeconfig, E2E_CONTEXT: 'mine' };
    expect(() => readSettings(['--nodes', '3'], env)).toThrow('--nodes needs its own cluster');
  });

  it('names the cluster after the checkout and puts the cache in XDG_CACHE_HOME', () => {
    expect(clusterName('/a')).toMatch(/^uswarm-[0-9a-f]{8}$/);
    expect(clusterName('/a')).not.toBe(clusterName('/b'));
    expect(cacheFolder({ XDG_CACHE_HOME: '/cache' })).toBe('/cache/uswarm');
  });
});
