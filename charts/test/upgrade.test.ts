import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type KnownCluster, startKnownCluster } from './support/known-cluster.js';
import {
  evaluation,
  find,
  helm,
  type Manifest,
  modelProvider,
  ofKind,
  parseManifests,
  render,
} from './support/rendering.js';
import { merge } from './support/value-paths.js';

const SECRET = 'uswarm-evaluation';

/** The output of `helm upgrade` for the objects in the cluster. */
async function upgradeIn({ kubeconfig }: KnownCluster, values: object): Promise<Manifest[]> {
  const verb = ['template', '--is-upgrade', '--dry-run=server', '--disable-openapi-validation'];
  return parseManifests(await helm([...verb, '--kubeconfig', kubeconfig], values));
}

function asStored(secret: Manifest): Manifest {
  const { stringData, ...rest } = secret;
  const data = Object.entries(stringData as Record<string, string>).map(([key, text]) => [key, btoa(text)]);
  return { ...(rest as Manifest), data: Object.fromEntries(data) };
}

describe('an upgrade of an evaluation', () => {
  let cluster: KnownCluster;
  beforeEach(async () => {
    cluster = await startKnownCluster(await render(evaluation));
  });
  afterEach(() => cluster.close());

  const upgrade = (values: object): Promise<Manifest[]> => upgradeIn(cluster, values);

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

describe('a rotation of the generated keys of an evaluation', () => {
  const ROTATED = [
    'internalApi',
    'cursor',
    'identityHash',
    'signature',
    'mcpSigning',
    'modelToken',
    'modelCalls',
    'sync',
  ] as const;
  const WITH_ID: ReadonlySet<string> = new Set(['internalApi', 'mcpSigning', 'modelToken', 'modelCalls']);
  const base = merge(evaluation, modelProvider);
  const named = (key: string, previousKey: string): object =>
    merge(base, {
      secrets: {
        ...Object.fromEntries(
          ROTATED.map((name) => [
            name,
            { key: `${name}-${key}`, previousKey: previousKey && `${name}-${previousKey}` },
          ]),
        ),
        callKey: {
          privateKey: `private-${key}`,
          publicKey: `public-${key}`,
          previousPrivateKey: previousKey && `private-${previousKey}`,
        },
      },
    });
  const generatedBy = (manifests: readonly Manifest[]): Record<string, string> =>
    find(manifests, 'Secret', SECRET)['stringData'] as Record<string, string>;

  /** Each upgrade finds only the entries that the one before it has rendered. */
  async function upgraded(...steps: object[]): Promise<Record<string, string>[]> {
    const results = [await render(steps[0]!)];
    for (const values of steps.slice(1)) {
      const cluster = await startKnownCluster([...results.at(-1)!]);
      try {
        cluster.objects.push(asStored(find(results.at(-1)!, 'Secret', SECRET)));
        results.push(await upgradeIn(cluster, values));
      } finally {
        await cluster.close();
      }
    }
    return results.map(generatedBy);
  }

  it('generates the next key when it is introduced, and keeps both keys when it is used', async () => {
    const [, introduced, switched, retired] = await upgraded(
      named('old', ''),
      named('old', 'new'),
      named('new', 'old'),
      named('new', ''),
    );
    for (const name of ROTATED) {
      const [before, after] = [`${name}-old`, `${name}-new`];
      expect(introduced?.[after]).toMatch(WITH_ID.has(name) ? /^k\d+:\w{43}$/ : /^\w{43}$/);
      expect(introduced?.[after]?.split(':')[0]).not.toBe(introduced?.[before]?.split(':')[0]);
      expect(switched).toMatchObject({ [before]: introduced?.[before], [after]: introduced?.[after] });
      expect(retired?.[after]).toBe(introduced?.[after]);
      expect(retired).not.toHaveProperty(before);
    }
  });

  it('keeps the previous keys, and gives new ones another id, if the new keys were not introduced before', async () => {
    const [installed, switched] = await upgraded(named('old', ''), named('new', 'old'));
    for (const name of ROTATED) {
      const [before, after] = [switched?.[`${name}-old`], switched?.[`${name}-new`]];
      expect(before).toBe(installed?.[`${name}-old`]);
      expect(after?.split(':')[0]).not.toBe(before?.split(':')[0]);
    }
    expect(switched?.['private-old']).toBe(installed?.['private-old']);
    expect(switched?.['private-new']).not.toBe(installed?.['private-old']);
  });

  it('generates no previous key for an existing Secret', async () => {
    const cursor = { existingSecret: 'mine', previousKey: 'cursor-key-2' };
    expect(generatedBy(await render(merge(base, { secrets: { cursor } })))).not.toHaveProperty('cursor-key-2');
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
