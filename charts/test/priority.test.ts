import { describe, expect, it } from '@jest/globals';
import { evaluation, type Manifest, modelProvider, ofKind, podTemplates, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const base = merge(evaluation, modelProvider);
const classes = (manifests: readonly Manifest[]): Record<string, string | undefined> =>
  Object.fromEntries(
    podTemplates(manifests).map(({ owner, spec }) => [owner, spec.priorityClassName as string | undefined]),
  );
const created = (manifests: readonly Manifest[]): string[] =>
  ofKind(manifests, 'PriorityClass').map(({ metadata }) => metadata.name);

describe('the priority of pods', () => {
  it('is higher for the services than for pods without a class', async () => {
    const manifests = await render(base);
    const [own] = ofKind(manifests, 'PriorityClass');
    expect(own).toMatchObject({ metadata: { name: 'uswarm-platform' } });
    // The API server does not store `false`, so another client could not apply it.
    expect(own).not.toHaveProperty('globalDefault');
    expect(own!['value']).toBeGreaterThan(0);
    const services = ['orchestrator', 'realtime-gateway', 'model-gateway', 'webhook', 'controller', 'searxng-client'];
    expect(classes(manifests)).toMatchObject(
      Object.fromEntries(
        [...services.map((name) => `uswarm-${name}`), 'searxng'].map((name) => [name, 'uswarm-platform']),
      ),
    );
  });

  it('does not change for the evaluation stores, which would lose their data, and for hooks, which run without the class', async () => {
    const found = classes(await render(base));
    const others = ['uswarm-postgres', 'uswarm-valkey', 'uswarm-drain', 'uswarm-drain-finish', 'uswarm-test'];
    expect(others.map((name) => found[name])).toEqual(others.map(() => undefined));
    expect(Object.keys(found)).toEqual(expect.arrayContaining(others));
  });

  it('is that of the given class', async () => {
    const all = await render(merge(base, { defaults: { priorityClassName: 'mine' } }));
    expect(new Set(Object.values(classes(all)))).toEqual(new Set(['mine']));
    expect(created(all)).toEqual([]);
    const one = await render(merge(base, { gateway: { priorityClassName: 'mine' } }));
    expect(classes(one)).toMatchObject({ 'uswarm-realtime-gateway': 'mine', 'uswarm-webhook': 'uswarm-platform' });
    expect(created(one)).toEqual(['uswarm-platform']);
  });

  it('is the default of the cluster if no class is created', async () => {
    const manifests = await render(merge(base, { priorityClass: { create: false } }));
    expect(created(manifests)).toEqual([]);
    expect(new Set(Object.values(classes(manifests)))).toEqual(new Set([undefined]));
  });
});
