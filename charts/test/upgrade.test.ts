import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type KnownCluster, startKnownCluster } from './support/known-cluster.js';
import { evaluation, find, helm, type Manifest, ofKind, parseManifests, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const SECRET = 'uswarm-evaluation';

describe('an upgrade of an evaluation', () => {
  let cluster: KnownCluster;
  beforeEach(async () => {
    cluster = await startKnownCluster(await render(evaluation));
  });
  afterEach(() => cluster.close());

  /** The output of `helm upgrade` for the objects in the cluster. */
  const upgrade = async (values: object): Promise<Manifest[]> => {
    const verb = ['template', '--is-upgrade', '--dry-run=server', '--disable-openapi-validation'];
    return parseManifests(await helm([...verb, '--kubeconfig', cluster.kubeconfig], values));
  };
  const asStored = (secret: Manifest): Manifest => {
    const { stringData, ...rest } = secret;
    const data = Object.entries(stringData as Record<string, string>).map(([key, text]) => [key, btoa(text)]);
    return { ...(rest as Manifest), data: Object.fromEntries(data) };
  };

  it('keeps all generated secrets', async () => {
    const installed = find(await render(evaluation), 'Secret', SECRET);
    cluster.objects.push(asStored(installed));
    const upgraded = find(await upgrade(evaluation), 'Secret', SECRET);
    expect(upgraded['stringData']).toEqual(installed['stringData']);
    expect(Object.keys(installed['stringData'] as object).length).toBeGreaterThan(10);
  });

  it('generates only missing secrets', async () => {
    const installed = find(await render(evaluation), 'Secret', SECRET);
    const { 'cursor-key': _, ...older } = installed['stringData'] as Record<string, string>;
    cluster.objects.push(asStored({ ...installed, stringData: older }));
    const upgraded = find(await upgrade(evaluation), 'Secret', SECRET)['stringData'] as Record<string, string>;
    expect(upgraded).toMatchObject(older);
    expect(upgraded['cursor-key']).toMatch(/^\w{43}$/);
    expect(upgraded['cursor-key']).not.toBe((installed['stringData'] as Record<string, string>)['cursor-key']);
  });
});

describe('pods', () => {
  const annotations = (manifests: readonly Manifest[]): Record<string, unknown> =>
    Object.fromEntries(ofKind(manifests, 'Deployment').map(({ metadata, spec }) => [metadata.name, spec.template]));
  const changed = async (values: object): Promise<string[]> => {
    const [before, after] = [
      annotations(await render(evaluation)),
      annotations(await render(merge(evaluation, values))),
    ];
    return Object.keys(before).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  };

  it.each<[string, object, string[]]>([
    ['what SearXNG is configured with', { searxng: { settings: { search: { safe_search: 1 } } } }, ['searxng']],
    [
      'what a UserSwarm may name',
      { runtime: { extraNamespaces: ['team-a'] } },
      ['uswarm-controller', 'uswarm-webhook'],
    ],
    ['the pods of workspaces', { runtime: { pods: { labels: { team: 'a' } } } }, ['uswarm-webhook']],
    ['who reads the log', { gateway: { logLevel: 'debug' } }, ['uswarm-realtime-gateway']],
    [
      'an edge',
      {
        ingress: { enabled: true, host: 'a.example.com', tls: { secretName: 'tls' } },
        http: { trustedProxies: ['10.32.0.8/29'] },
      },
      ['uswarm-orchestrator', 'uswarm-realtime-gateway'],
    ],
    ['nothing of theirs', { images: { pullSecrets: [] }, crds: { keep: false } }, []],
  ])('restart when their configuration changes: %s', async (_change, values, names) => {
    expect((await changed(values)).toSorted()).toEqual(names);
  });
});
