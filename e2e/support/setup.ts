import { mkdir } from 'node:fs/promises';
import { deployEdge, ensureCertificate } from './edge.js';
import {
  EXTRA_RUNTIME_NAMESPACES,
  FIXTURE_LABEL,
  fixtureNode,
  fixtureObjects,
  HOST,
  NAMESPACE,
  namespaceObject,
  OIDC_ISSUER,
  PROVIDER_KEY,
  PROVIDER_SECRET,
  RELEASE,
  STORAGE_SECRET,
} from './fixtures.js';
import { createKubeApi, type KubeApi, loadKubeConfig } from './kube-api.js';
import { type Recorder, startRecorder } from './recorder.js';
import { ensureRelease, isInstalled } from './release.js';
import { openSession } from './session.js';
import { imageOf, loadSettings, type Settings } from './settings.js';
import { createTools, type Tools } from './tools.js';

/** Sets up the run once: fixtures, release, edge and recorder. */
export async function setUpPlatform(settings: Settings = loadSettings()): Promise<Recorder> {
  const tools = createTools(settings);
  const api = createKubeApi(loadKubeConfig(settings));
  await mkdir(settings.artifacts, { recursive: true });
  await refuseForeignRelease(tools, api);
  await applyFixtures(tools, settings);
  await ensureCertificate({ api });
  const done = await ensureRelease({ tools, settings });
  const recorder = await startRecorder(api, tools, `${settings.artifacts}/cluster`);
  await deployEdge({ api, tools }, imageOf(settings.images, 'edge'), settings.nodes);
  for (const [namespace, name] of [
    [NAMESPACE.oidc, 'oidc'],
    [NAMESPACE.search, 'upstream'],
    [NAMESPACE.models, 'models'],
  ] as const) {
    await tools.kubectl(['rollout', 'status', '-n', namespace, `deployment/${name}`, '--timeout=60s'], {
      timeoutMs: 90_000,
    });
  }
  if (done === 'install') await startFirstRuntime();
  return recorder;
}

/** For some seconds after the installation of a kind, the API server refuses objects that its objects own. */
async function startFirstRuntime(): Promise<void> {
  const session = await openSession();
  try {
    await session.ready(await session.create());
  } finally {
    await session.close();
  }
}

/** A production release has the same names; only a release of these tests may be changed. */
async function refuseForeignRelease(tools: Tools, api: KubeApi): Promise<void> {
  if (!(await isInstalled(tools))) return;
  const namespace = await api.find('Namespace', { name: NAMESPACE.release });
  if (namespace?.metadata?.labels?.[FIXTURE_LABEL] === 'true') return;
  throw new Error(
    `Release ${RELEASE} in namespace ${NAMESPACE.release} was not installed by these tests, which would overwrite it.`,
  );
}

async function applyFixtures(tools: Tools, { images, nodes }: Settings): Promise<void> {
  const items = [
    ...[NAMESPACE.release, NAMESPACE.oidc, NAMESPACE.search, NAMESPACE.models, NAMESPACE.edge].map((name) =>
      namespaceObject(name),
    ),
    ...EXTRA_RUNTIME_NAMESPACES.map((name) => namespaceObject(name, true)),
    ...fixtureObjects({
      ...fixtureNode(nodes),
      name: 'oidc',
      namespace: NAMESPACE.oidc,
      image: imageOf(images, 'oidc'),
      port: 8080,
      env: { ISSUER_URL: OIDC_ISSUER, REDIRECT_URIS: `https://${HOST}/signed-in` },
    }),
    ...fixtureObjects({
      ...fixtureNode(nodes),
      name: 'upstream',
      namespace: NAMESPACE.search,
      image: imageOf(images, 'search-upstream'),
      port: 8080,
    }),
    ...fixtureObjects({
      ...fixtureNode(nodes),
      name: 'models',
      namespace: NAMESPACE.models,
      image: imageOf(images, 'model-server'),
      port: 8080,
    }),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: PROVIDER_SECRET,
      stringData: { OPENAI_API_KEY: PROVIDER_KEY },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: STORAGE_SECRET,
      stringData: { 'access-key-id': 'unused', 'secret-access-key': 'unused' },
    },
  ];
  await tools.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
}
