import { randomUUID } from 'node:crypto';
import { HttpMethod } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_GROUP, API_VERSION, USERSWARM_PLURAL, type UserSwarm } from '@uswarm/contract/userswarm';
import { parseAllDocuments } from 'yaml';
import { DEFAULT_IMAGE, POLICY_CASE_NAME, POLICY_CASES, POLICY_LISTS, type PolicyCase } from '@uswarm/hook-conformance';
import {
  createKubeApi,
  createTools,
  type KubeApi,
  KubeApiError,
  loadKubeConfig,
  loadSettings,
  namespaceObject,
  throwawayCrd,
  type Tools,
} from '../support/index.js';
import { applyManifest, policyInForce, renderAdmission } from '../support/admission-policy.js';

// The chart's policy with the lists in the table, for the same kind in a separate API group, which the release's policy
// and controller ignore.
const NAME = 'e2e-admission';
const POLICY = `${NAME}-policy`;
const GROUP = `admission.e2e.${API_GROUP}`;
const API_BASE = `/apis/${GROUP}/${API_VERSION}/${USERSWARM_PLURAL}`;

let api: KubeApi;
let tools: Tools;
let lists: Record<string, string>;
let cleanUp: (() => Promise<void>) | undefined;

interface Rendered {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec?: { matchConstraints?: { resourceRules: { apiGroups: string[] }[] } };
}

/** The objects that the chart renders from the lists. */
async function renderPolicy(): Promise<Rendered[]> {
  const [registry, ...repository] = DEFAULT_IMAGE.split(':')[0]!.split('/');
  const manifest = await renderAdmission(tools, {
    name: NAME,
    templates: ['userswarms'],
    runtime: {
      namespace: POLICY_LISTS.runtimeNamespaces[0],
      extraNamespaces: POLICY_LISTS.runtimeNamespaces.slice(1),
      image: { registry, repository: repository.join('/') },
      imagePrefixes: POLICY_LISTS.imagePrefixes.slice(1),
      sharedEnvSecrets: POLICY_LISTS.sharedEnvSecrets.slice(1),
      maxResources: { cpu: POLICY_LISTS.maxCpu[0], memory: POLICY_LISTS.maxMemory[0] },
    },
  });
  return parseAllDocuments(manifest).map((document) => document.toJS() as Rendered);
}

async function send(method: HttpMethod, path: string, body?: object): Promise<UserSwarm> {
  const isPatch = method === HttpMethod.PATCH;
  const response = await api.request(method, `${API_BASE}${path}`, {
    ...(body === undefined ? {} : { body }),
    ...(isPatch ? { contentType: 'application/merge-patch+json' } : {}),
  });
  return (await response.json()) as UserSwarm;
}

const create = (spec: object, name = POLICY_CASE_NAME, query = '?dryRun=All'): Promise<UserSwarm> =>
  send(HttpMethod.POST, query, {
    apiVersion: `${GROUP}/${API_VERSION}`,
    kind: 'UserSwarm',
    metadata: { name },
    spec: { userId: 'user', ...spec },
  });

/** The reason why the API server rejects the object; undefined if it accepts it. */
async function refusalOf(attempt: Promise<unknown>): Promise<string | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeApiError && [403, 422].includes(error.status))) throw error;
    return error.message.split(' denied request: ').at(-1);
  }
}

/** Waits until the policy rejects this spec. */
const inForce = (spec: PolicyCase['spec'], reason: RegExp): Promise<true> =>
  policyInForce(() => refusalOf(create(spec)), reason);

beforeAll(async () => {
  const settings = loadSettings();
  api = createKubeApi(loadKubeConfig(settings));
  tools = createTools(settings);
  const objects = await renderPolicy();
  lists = objects.find(({ kind }) => kind === 'ConfigMap')!.data!;
  for (const { spec } of objects) {
    for (const rule of spec?.matchConstraints?.resourceRules ?? []) rule.apiGroups = [GROUP];
  }
  const items = [await throwawayCrd(GROUP), namespaceObject(NAME), ...objects];
  cleanUp = await applyManifest(tools, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await inForce({ runtime: { image: 'elsewhere.test/x:1' } }, /PolicyDenied/);
});
afterAll(() => cleanUp?.());

it('the chart renders the policy lists from its values', () => {
  const entries = Object.entries(lists).map(([name, list]) => [name, list.split('\n')]);
  expect(Object.fromEntries(entries)).toEqual(POLICY_LISTS);
});

describe('the admission policy decides like the webhook about a UserSwarm with', () => {
  it.each([...POLICY_CASES])('$title', async ({ spec, denied }) => {
    expect(await refusalOf(create(spec))).toBe(denied === undefined ? undefined : `PolicyDenied: ${denied}`);
  });
});

describe('a UserSwarm whose image is no longer allowed', () => {
  const name = `workspace-${randomUUID()}`;
  const place = { name: POLICY, namespace: NAME };
  const patch = (change: object): Promise<UserSwarm> => send(HttpMethod.PATCH, `/${name}`, change);

  beforeAll(async () => {
    await create({ suspend: true, runtime: { image: 'registry.test/team/app:1' } }, name, '');
    await api.merge('ConfigMap', place, { data: { imagePrefixes: 'other.test/' } });
    await inForce({ runtime: { image: 'registry.test/team/app:1' } }, /PolicyDenied/);
  });

  it('can still be changed in other fields, its finalizers and its status', async () => {
    const finalizers = ['e2e.uswarm.dev/hold'];
    expect((await patch({ spec: { suspend: false } })).spec.suspend).toBe(false);
    expect((await patch({ spec: { suspend: true } })).spec.suspend).toBe(true);
    expect((await patch({ metadata: { finalizers } })).metadata.finalizers).toEqual(finalizers);
    const seen = await send(HttpMethod.PATCH, `/${name}/status`, { status: { phase: 'Error' } });
    expect(seen.status?.phase).toBe('Error');
  });

  it('cannot be changed to another image that is not allowed, nor to other forbidden values', async () => {
    expect(await refusalOf(patch({ spec: { runtime: { image: 'elsewhere.test/x:1' } } }))).toMatch(/^PolicyDenied/);
    const secret = { config: { envSecretRef: { name: 'workspace-b-env' } } };
    expect(await refusalOf(patch({ spec: secret }))).toMatch(/^PolicyDenied: The Secret /);
  });

  it('can be corrected, and then not be made invalid again', async () => {
    expect(await refusalOf(patch({ spec: { runtime: { image: 'other.test/app:1' } } }))).toBeUndefined();
    const back = { spec: { runtime: { image: 'registry.test/team/app:1' } } };
    expect(await refusalOf(patch(back))).toMatch(/^PolicyDenied: The image /);
  });

  it('can be deleted, because its finalizer can be removed', async () => {
    await send(HttpMethod.DELETE, `/${name}`);
    expect((await send(HttpMethod.GET, `/${name}`)).metadata.finalizers).toEqual(['e2e.uswarm.dev/hold']);
    await patch({ metadata: { finalizers: null } });
    await expect(send(HttpMethod.GET, `/${name}`)).rejects.toMatchObject({ status: 404 });
  });
});

describe('the controller', () => {
  const name = `workspace-${randomUUID()}`;
  const user = `system:serviceaccount:${NAME}:${NAME}-controller`;
  const asController = ['--as', user, '--as-group', 'system:masters'];
  /** As the controller, but with all permissions. */
  const patch = (change: object): Promise<unknown> => {
    const what = [`${USERSWARM_PLURAL}.${GROUP}`, name, '--type=merge', '-p', JSON.stringify(change)];
    return tools.kubectl(['patch', ...what, '--dry-run=server', ...asController]);
  };
  beforeAll(() => create({}, name, ''));
  afterAll(() => send(HttpMethod.DELETE, `/${name}`));

  it.each([
    ['another Secret', { config: { envSecretRef: { name: `${name}-env` } } }],
    ['another image', { runtime: { image: 'registry.test/team/app:1' } }],
    ['a suspension', { suspend: true }],
  ])('cannot give a UserSwarm %s', async (_what, spec) => {
    await expect(patch({ spec })).rejects.toThrow('PolicyDenied: The controller must not change the spec');
  });

  it.each([
    ['an owner', { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'absent', uid: randomUUID() }] }],
    ['a label', { labels: { 'uswarm.dev/team': 'a' } }],
  ])('cannot give a UserSwarm %s', async (_what, metadata) => {
    await expect(patch({ metadata })).rejects.toThrow('PolicyDenied: The controller must not change the owners');
  });

  it('can change the annotations and finalizers of a UserSwarm', async () => {
    const change = { metadata: { annotations: { a: 'b' }, finalizers: ['e2e.uswarm.dev/hold'] } };
    await expect(patch(change)).resolves.toBeDefined();
  });
});

describe('the policy without its lists', () => {
  it('rejects every UserSwarm rather than accepting all', async () => {
    await api.delete('ConfigMap', { name: POLICY, namespace: NAME });
    await inForce({}, /no params found/);
    expect(await refusalOf(create({}))).toContain('no params found');
  });
});
