import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { chartSchema, providerList, toolServerList } from '../generate/chart-files.js';
import { CHART, external, helm, rejection, repositoryFile } from './support/rendering.js';
import { type Change, changeAt, merge, pathsOf, resolve, type Schema, valueAt } from './support/value-paths.js';

let schema: Schema;
let values: object;
beforeAll(async () => {
  schema = JSON.parse(await readFile(`${CHART}/values.schema.json`, 'utf8')) as Schema;
  values = parse(await readFile(`${CHART}/values.yaml`, 'utf8')) as object;
});

/** Kubernetes or SearXNG objects that the schema does not validate. */
const PASSED_THROUGH = new Set([
  'affinity',
  'topologySpreadConstraints',
  'valueFrom',
  'engines',
  'settings',
  'global',
  'from',
  'to',
  'namespaceSelector',
  'podSelector',
  'extraEgress',
  'extraObjects',
  'metadata',
]);

interface Property {
  path: string;
  schema: Schema;
}

/** Every schema below this one, with its path. */
function below(at: Schema, path: string): Property[] {
  const here = resolve(schema, at);
  const inside: [string, Schema | undefined][] = [
    ...Object.entries(here.properties ?? {}).map(([name, each]): [string, Schema] => [`${path}.${name}`, each]),
    [`${path}[]`, here.items],
  ];
  return [{ path, schema: here }, ...inside.flatMap(([name, each]) => (each === undefined ? [] : below(each, name)))];
}

describe('values.schema.json', () => {
  it('is what `npm run generate` writes', async () => {
    expect(await readFile(`${CHART}/values.schema.json`, 'utf8')).toBe(await chartSchema(CHART));
    expect(await readFile(`${CHART}/files/model-providers.yaml`, 'utf8')).toBe(providerList());
    expect(await readFile(`${CHART}/files/tool-servers.yaml`, 'utf8')).toBe(toolServerList());
  });

  it('rejects unknown keys at every depth', () => {
    const objects = below(schema, '$').filter(({ schema: each }) => each.type === 'object');
    expect(objects.length).toBeGreaterThan(50);
    const open = objects.filter(
      ({ schema: each }) => each.additionalProperties !== false && !each.additionalProperties?.type,
    );
    const names = open.map(({ path }) => path.replace(/\[\]$/, '').split('.').at(-1)!);
    expect(new Set(names)).toEqual(PASSED_THROUGH);
  });

  it('describes every value', () => {
    const properties = below(schema, '$').filter(({ path }) => !path.endsWith('[]'));
    const bare = properties.filter(({ schema: each }) => !/^\S.*\.$/.test(each.description ?? each.title ?? ''));
    expect(bare.map(({ path }) => path)).toEqual(['$']);
  });

  it('has exactly the keys of values.yaml', () => {
    const isLeaf = ({ path, schema: each }: Property): boolean =>
      each.properties === undefined && !path.includes('[]') && path !== '$.global';
    const declared = below(schema, '$')
      .filter(isLeaf)
      .map(({ path }) => path.slice(2));
    expect(pathsOf(values).toSorted()).toEqual(declared.toSorted());
  });

  it.each([
    ['a misspelled key', { gateway: { replica: 2 } }, "at '/gateway': additional properties 'replica' not allowed"],
    ['an unknown key at the top level', { redis: {} }, "additional properties 'redis' not allowed"],
    ['an unknown key of runtime pods', { runtime: { pods: { hostNetwork: true } } }, "'hostNetwork' not allowed"],
    [
      'a weaker security context',
      { searxng: { podSecurityContext: { runAsNonRoot: false } } },
      "'runAsNonRoot' not allowed",
    ],
    [
      'a number instead of a string',
      { oidc: { issuers: [{ issuer: 'https://a', audience: 5 }] } },
      "at '/oidc/issuers/0/audience'",
    ],
    [
      'an unknown right of operators',
      {
        operators: {
          issuers: [
            { issuer: 'https://a', audience: 'a', rules: [{ claim: 'groups', value: 'sre', rights: ['everything'] }] },
          ],
        },
      },
      "at '/operators/issuers/0/rules/0/rights/0'",
    ],
    [
      'root as the user',
      { searxng: { podSecurityContext: { runAsUser: 0 } } },
      "at '/searxng/podSecurityContext/runAsUser'",
    ],
    [
      'a password among the values',
      { runtime: { stores: { redis: { addr: 'redis://:pw@host' } } } },
      "at '/runtime/stores/redis/addr'",
    ],
    ['a registry that ends with a slash', { images: { registry: 'r.example.com/' } }, "at '/images/registry'"],
    ['a mirror with a scheme', { images: { mirror: 'https://r.example.com' } }, "at '/images/mirror'"],
    ['a blank in a tag', { images: { tag: '1.0 ' } }, "at '/images/tag'"],
    ['an upper-case repository', { runtime: { image: { repository: 'Team/a' } } }, "at '/runtime/image/repository'"],
    ['an empty repository', { gateway: { image: { repository: '' } } }, "at '/gateway/image/repository'"],
    ['a tag with a digest', { webhook: { image: { tag: '1@sha256:a' } } }, "at '/webhook/image/tag'"],
    [
      'a reserved variable name',
      { runtime: { pods: { extraEnv: [{ name: 'SVC_X', value: '' }] } } },
      '/runtime/pods/extraEnv/0/name',
    ],
  ])('rejects %s', async (_, wrong, message) => {
    expect(await rejection(merge(external, wrong))).toContain(message);
  });

  it.each([
    { database: { host: 'db' } },
    { database: { host: 'db', name: 'n', user: 'u' } },
    { existingSecret: 's', spaces: { endpoint: 'https://s3', bucket: 'b' } },
    { redis: { addrFromSecret: true } },
  ])('rejects incomplete stores: %j', async (stores) => {
    const sentence = await rejection(merge(external, { runtime: { stores } }));
    expect(sentence).toMatch(/^runtime\.stores\.\S+ [^\n]+\.$/);
  });
});

// Enables everything, so that each value has an effect.
const ALL_ON = parse(await readFile(`${CHART}/ci/everything-values.yaml`, 'utf8')) as object;
/** Uses as many Secrets as possible. */
const ALL_SECRETS = merge(external, { proxy: { https: 'http://proxy.test:3128' } });
/** Base values for values that have no effect when everything is enabled. */
const autoscaling = { enabled: true };
const INSTEAD: [RegExp, object][] = [
  [
    /\.autoscaling\.(?!enabled)/,
    merge(ALL_ON, { orchestrator: { autoscaling }, gateway: { autoscaling }, modelGateway: { autoscaling } }),
  ],
  // With Metacontroller, the controller's objects are not rendered.
  [/^networkPolicy\.metacontroller\./, merge(ALL_ON, { controller: { framework: 'metacontroller' } })],
  // The evaluation stores do not need these rules.
  [/^networkPolicy\.(database|realtime)\./, external],
  [
    /^(secrets|networkPolicy)\.proxy\.|^proxy\.noProxy/,
    merge(ALL_ON, { proxy: { https: 'http://proxy.test:3128' }, secrets: { proxy: { existingSecret: 'proxy' } } }),
  ],
  // The page needs signature.mode=off, with which the secret of signatures has no effect.
  [/^web\.enabled$/, merge(ALL_ON, { signature: { mode: 'off' }, web: { clientId: 'app' } })],
  [/^web\./, merge(ALL_ON, { signature: { mode: 'off' }, web: { enabled: true, clientId: 'app' } })],
  // The memory limit of orchestrator.codeRunner takes its place.
  [/^orchestrator\.resources\.limits$/, merge(ALL_ON, { orchestrator: { codeRunner: { enabled: false } } })],
  // These values have an effect only on values that are otherwise rejected.
  [/^http\.insecure$/, merge(ALL_ON, { http: { publicUrl: '' } })],
  [/e2eBypassBesideKeptData$/, merge(external, { nonProduction: { e2eBypass: true } })],
];

describe('every value', () => {
  /** The output or the error of helm, without generated secrets. */
  const outcome = async (changed: object): Promise<string> => {
    // Without the schema, which needs a third of the time, and whose error would count as an effect.
    const text = await helm(['install', '--dry-run=client', '--skip-schema-validation'], changed).catch(
      (error: { stderr: string }) => error.stderr,
    );
    return text
      .replaceAll(/^ {2}"?[-\w.]+"?: "?(postgres:|redis:|k\d+:|-----BEGIN|\w{32,43}"?$).*$/gm, '')
      .replaceAll(/requirepass \w+/g, '')
      .replaceAll(/^LAST DEPLOYED: .*$/gm, '');
  };

  /** Values that disable chart parts. */
  const EXCLUSIVE = /existingSecret$|\.clusterDomain$|^images\.mirror$|\.disabledAlerts$|\.autoscaling\./;

  /** Parts whose objects have a label with the part's name. */
  const PARTS = ['orchestrator', 'gateway', 'modelGateway', 'webhook', 'controller', 'searxngClient', 'searxng'];
  /** The same value of several parts, such as `replicas`, has an effect on the objects of each part. */
  const ofPart = ({ path }: Change): string | undefined =>
    PARTS.includes(path.split('.')[0]!) ? path.slice(path.indexOf('.')) : undefined;
  const objectsOf = (text: string, path: string): string => {
    const part = path.split('.')[0]!.replace(/^gateway$/, 'realtimeGateway');
    const name = part.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return text
      .split('\n---')
      .filter((object) => object.includes(`app.kubernetes.io/component: ${name}\n`))
      .join('\n---');
  };

  it('changes the rendered chart', async () => {
    const changes = pathsOf(values).map((path, serial) =>
      changeAt(schema, path, valueAt(ALL_ON, path) ?? valueAt(values, path), serial),
    );
    // One run shows most changes by their markers. The others need a run each.
    const together = (some: Change[], base = ALL_ON): Promise<string> =>
      outcome(some.map((each) => each.values).reduce(merge, base));
    const marked = changes.filter(({ path, marker }) => marker !== undefined && !EXCLUSIVE.test(path));
    const secrets = changes.filter(({ path }) => /^secrets\.(?!search).*\.existingSecret$/.test(path));
    const shown = `${await together(marked)}${await together(secrets, ALL_SECRETS)}`;
    const rest = new Set(changes.filter(({ marker }) => marker === undefined || !shown.includes(marker)));
    expect(changes.length - rest.size).toBeGreaterThan(100);

    const bases = [...INSTEAD.map(([, base]) => base), ALL_ON].map((base) => ({ base, before: outcome(base) }));
    expect(await outcome(ALL_ON)).toBe(await bases.at(-1)!.before);
    // Another run shows the same change in all parts.
    for (const same of Map.groupBy(rest, (change) => ofPart(change) ?? '').entries()) {
      const [name, some] = same;
      if (name === '' || some.length === 1) continue;
      const { base, before } = bases.at(INSTEAD.findIndex(([pattern]) => pattern.test(some[0]!.path)))!;
      const after = await together(some, base);
      for (const change of some)
        if (objectsOf(after, change.path) !== objectsOf(await before, change.path)) rest.delete(change);
    }
    const idle: string[] = [];
    const tryOut = async ({ path, values: other }: Change): Promise<void> => {
      const { base, before } = bases.at(INSTEAD.findIndex(([pattern]) => pattern.test(path)))!;
      if ((await outcome(merge(base, other))) === (await before)) idle.push(path);
    };
    const queue = rest.values();
    await Promise.all(
      [1, 2].map(async () => {
        for (const change of queue) await tryOut(change);
      }),
    );
    expect(idle.toSorted()).toEqual([]);
  });
});

it('docs/operations.md names the minimum Kubernetes version of the chart', async () => {
  const { kubeVersion } = parse(await readFile(`${CHART}/Chart.yaml`, 'utf8')) as { kubeVersion: string };
  const oldest = /^>=(\d+\.\d+)\.0-0$/.exec(kubeVersion)![1];
  const guide = await readFile(repositoryFile('docs/operations.md'), 'utf8');
  expect([...guide.matchAll(/Kubernetes (\d+\.\d+) or newer/g)].map(([, version]) => version)).toEqual([oldest]);
});
