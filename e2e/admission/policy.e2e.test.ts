import { randomUUID } from 'node:crypto';
import { HttpMethod } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UserSwarm } from '@uswarm/contract/userswarm';
import { parseAllDocuments } from 'yaml';
import {
  DEFAULT_IMAGE,
  POLICY_CASE_NAME,
  POLICY_CASES,
  POLICY_LISTS,
  type PolicyCase,
} from '../../services/uswarm-webhook/test/policy-cases.js';
import { connect, uniqueName } from '../crd/userswarms.js';
import {
  CHART,
  createKubeApi,
  createTools,
  eventually,
  type KubeApi,
  KubeApiError,
  loadKubeConfig,
  loadSettings,
  namespaceObject,
  type Tools,
} from '../src/index.js';

// The chart's policy with the lists of the table, beside others: it is bound to what bears this label alone.
const NAME = 'e2e-admission';
const POLICY = `${NAME}-policy`;
const LABELS = { 'e2e.uswarm.dev/admission': randomUUID() };

let api: KubeApi;
let tools: Tools;
let manifest: string;
let lists: Record<string, string>;
const stored: string[] = [];

interface Rendered {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec?: { matchResources?: object };
}

/** What the chart makes of the lists. */
async function renderPolicy(): Promise<Rendered[]> {
  const [registry, ...repository] = DEFAULT_IMAGE.split(':')[0]!.split('/');
  const values = {
    fullnameOverride: NAME,
    images: { registry: 'registry.test' },
    evaluation: { enabled: true },
    oidc: { issuers: [{ issuer: 'https://login.example.com', audience: 'app' }] },
    runtime: {
      namespace: POLICY_LISTS.runtimeNamespaces[0],
      extraNamespaces: POLICY_LISTS.runtimeNamespaces.slice(1),
      image: { registry, repository: repository.join('/') },
      imagePrefixes: POLICY_LISTS.imagePrefixes.slice(1),
      sharedEnvSecrets: POLICY_LISTS.sharedEnvSecrets.slice(1),
    },
  };
  const templates = ['admission/userswarms', 'webhook/policy'].flatMap((name) => ['-s', `templates/${name}.yaml`]);
  const { stdout } = await tools.helm(['template', NAME, CHART, '-n', NAME, '-f', '-', ...templates], {
    input: JSON.stringify(values),
  });
  return parseAllDocuments(stdout).map((document) => document.toJS() as Rendered);
}

const create = (spec: object, name = POLICY_CASE_NAME, dryRun = true): Promise<UserSwarm> =>
  api.create('UserSwarm', { metadata: { name, labels: LABELS }, spec: { userId: 'user', ...spec } }, { dryRun });

/** Why the API server does not take it; undefined where it does. */
async function refusalOf(attempt: Promise<unknown>): Promise<string | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeApiError && error.status === 403)) throw error;
    return error.message.split(' denied request: ').at(-1);
  }
}

/** Waits until this much of the policy is in force. */
const inForce = (spec: PolicyCase['spec'], why: RegExp): Promise<true> =>
  eventually('the policy is in force', { withinMs: 30_000 }, async () => {
    const refusal = (await refusalOf(create(spec))) ?? 'taken';
    if (!why.test(refusal)) throw new Error(refusal);
    return true as const;
  });

beforeAll(async () => {
  await connect();
  const settings = loadSettings();
  api = createKubeApi(loadKubeConfig(settings));
  tools = createTools(settings);
  const objects = await renderPolicy();
  lists = objects.find(({ kind }) => kind === 'ConfigMap')!.data!;
  objects.find(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')!.spec!.matchResources = {
    objectSelector: { matchLabels: LABELS },
  };
  const items = [namespaceObject(NAME), ...objects];
  manifest = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await tools.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input: manifest });
  await inForce({ runtime: { image: 'elsewhere.test/x:1' } }, /PolicyDenied/);
}, 90_000);
afterAll(async () => {
  // The policy first: what it denies must not stay behind.
  await tools?.kubectl(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], { input: manifest });
  await Promise.all(stored.map((name) => api.delete('UserSwarm', { name })));
}, 60_000);

it('the chart makes of its values the lists of the table', () => {
  const entries = Object.entries(lists).map(([name, list]) => [name, list.split('\n')]);
  expect(Object.fromEntries(entries)).toEqual(POLICY_LISTS);
});

describe('the API server takes or refuses, as the webhook does, a UserSwarm that names', () => {
  it.each([...POLICY_CASES])('$title', async ({ spec, denied }) => {
    expect(await refusalOf(create(spec))).toBe(denied === undefined ? undefined : `PolicyDenied: ${denied}`);
  });
});

describe('a UserSwarm whose image is allowed no longer', () => {
  const name = uniqueName();
  const place = { name: POLICY, namespace: NAME };
  const patch = (change: object): Promise<UserSwarm> => api.merge('UserSwarm', { name }, change);

  beforeAll(async () => {
    stored.push(name);
    await create({ suspend: true, runtime: { image: 'registry.test/team/app:1' } }, name, false);
    await api.merge('ConfigMap', place, { data: { imagePrefixes: 'other.test/' } });
    await inForce({ runtime: { image: 'registry.test/team/app:1' } }, /PolicyDenied/);
  }, 60_000);

  it('can still be changed otherwise, also its finalizers and its status', async () => {
    const finalizers = ['e2e.uswarm.dev/hold'];
    expect((await patch({ spec: { suspend: false } })).spec.suspend).toBe(false);
    expect((await patch({ spec: { suspend: true } })).spec.suspend).toBe(true);
    expect((await patch({ metadata: { finalizers } })).metadata.finalizers).toEqual(finalizers);
    const status = await api.request(HttpMethod.PATCH, `/apis/uswarm.dev/v1alpha1/userswarms/${name}/status`, {
      body: { status: { phase: 'Error' } },
      contentType: 'application/merge-patch+json',
    });
    expect(status.ok).toBe(true);
  });

  it('cannot get another image that is not allowed, nor anything else', async () => {
    expect(await refusalOf(patch({ spec: { runtime: { image: 'elsewhere.test/x:1' } } }))).toMatch(/^PolicyDenied/);
    const secret = { config: { envSecretRef: { name: 'workspace-b-env' } } };
    expect(await refusalOf(patch({ spec: secret }))).toMatch(/^PolicyDenied: The Secret /);
  });

  it('can be put right, and then not be put wrong again', async () => {
    expect(await refusalOf(patch({ spec: { runtime: { image: 'other.test/app:1' } } }))).toBeUndefined();
    const back = { spec: { runtime: { image: 'registry.test/team/app:1' } } };
    expect(await refusalOf(patch(back))).toMatch(/^PolicyDenied: The image /);
  });

  it('can be deleted: its finalizer comes off', async () => {
    await api.delete('UserSwarm', { name });
    expect((await api.get('UserSwarm', { name })).metadata.finalizers).toEqual(['e2e.uswarm.dev/hold']);
    await patch({ metadata: { finalizers: null } });
    await eventually('it is gone', { withinMs: 10_000 }, async () =>
      (await api.find('UserSwarm', { name })) === undefined ? true : undefined,
    );
  });
});

describe('without the lists', () => {
  it('nothing is taken, rather than everything', async () => {
    await api.delete('ConfigMap', { name: POLICY, namespace: NAME });
    await inForce({}, /no params found/);
    expect(await refusalOf(create({}))).toContain('no params found');
  }, 60_000);
});
