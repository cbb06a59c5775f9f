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

  it('makes a cluster of its own, which it may disturb, when nothing is said', () => {
    expect(readSettings([], {})).toEqual({
      keep: false,
      patterns: [],
      given: undefined,
      choice: 'auto',
      disruptive: true,
      ci: false,
    });
  });

  it('uses no cluster that only a KUBECONFIG leads to', () => {
    expect(readSettings([], { KUBECONFIG: kubeconfig }).given).toBeUndefined();
  });

  it('uses a cluster whose context is named, and disturbs it only when told', () => {
    const env = { KUBECONFIG: kubeconfig, E2E_CONTEXT: 'mine' };
    expect(readSettings([], env)).toMatchObject({ given: { kubeconfig, context: 'mine' }, disruptive: false });
    expect(readSettings([], { ...env, E2E_DISRUPTIVE: '0' }).disruptive).toBe(false);
    expect(readSettings([], { ...env, E2E_DISRUPTIVE: '1' }).disruptive).toBe(true);
    expect(readSettings([], { E2E_DISRUPTIVE: '0' }).disruptive).toBe(false);
  });

  it('takes patterns and --keep, and refuses what it does not know', () => {
    expect(readSettings(['--keep', 'crd', 'phases'], {})).toMatchObject({ keep: true, patterns: ['crd', 'phases'] });
    expect(() => readSettings(['--nothing'], {})).toThrow(/--nothing[^]*npm run e2e -- /);
    expect(() => readSettings([], { E2E_CLUSTER: 'docker' })).toThrow('E2E_CLUSTER is one of auto, kind, built.');
    expect(() => readSettings([], { KUBECONFIG: '/nowhere/config', E2E_CONTEXT: 'x' })).toThrow('/nowhere/config');
  });

  it('names the cluster after the checkout and caches where the user wants', () => {
    expect(clusterName('/a')).toMatch(/^uswarm-[0-9a-f]{8}$/);
    expect(clusterName('/a')).not.toBe(clusterName('/b'));
    expect(cacheFolder({ XDG_CACHE_HOME: '/cache' })).toBe('/cache/uswarm');
  });
});
