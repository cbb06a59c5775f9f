import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { parseAllDocuments } from 'yaml';
import {
  CHART,
  DELETED_NAMESPACES,
  forwardPort,
  type Kinds,
  NAMESPACE,
  openSession,
  RELEASE,
  releaseValues,
  type Session,
} from '../support/index.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

const ours = (pods: readonly Kinds['Pod'][]): Kinds['Pod'][] =>
  pods.filter(({ metadata }) => metadata?.labels?.['app.kubernetes.io/part-of'] === 'uswarm');

describe('the installed release', () => {
  it('has every Deployment available', async () => {
    const deployments = await session.api.list('Deployment', { namespace: NAMESPACE.release });
    expect(deployments.map(({ metadata }) => metadata?.name).toSorted()).toEqual([
      'searxng',
      'uswarm-controller',
      'uswarm-model-gateway',
      'uswarm-orchestrator',
      'uswarm-postgres',
      'uswarm-realtime-gateway',
      'uswarm-searxng-client',
      'uswarm-valkey',
      'uswarm-webhook',
    ]);
    const wait = ['--for=condition=Available', 'deployment', '--all', '-n', NAMESPACE.release, '--timeout=60s'];
    await session.tools.kubectl(['wait', ...wait], { timeoutMs: 70_000 });
  });

  it('passes helm test', async () => {
    const run = () =>
      session.tools.helm(['test', RELEASE, '-n', NAMESPACE.release, '--timeout', '2m'], {
        timeoutMs: 130_000,
        mayFail: true,
      });
    let result = await run();
    for (let retries = 0; result.code !== 0 && retries < 3 && (await hasNotStarted()); retries += 1)
      result = await run();
    expect(result).toMatchObject({ code: 0, stdout: expect.stringMatching(/Phase:\s+Succeeded/) });
  });

  /** On a busy node runc may fail to create a container ("unable to freeze"). The test's pod is not restarted. */
  const hasNotStarted = async (): Promise<boolean> => {
    const pod = await session.api.find('Pod', { name: `${RELEASE}-test`, namespace: NAMESPACE.release });
    return pod?.status?.containerStatuses?.[0]?.state?.terminated?.reason === 'StartError';
  };

  it('has manifests that change no object when they are applied again', async () => {
    const { stdout } = await session.tools.helm(['get', 'manifest', RELEASE, '-n', NAMESPACE.release]);
    // In a namespace that another test deletes, nothing can be applied.
    const manifests = parseAllDocuments(stdout)
      .filter((document) => !DELETED_NAMESPACES.some((name) => document.getIn(['metadata', 'namespace']) === name))
      .map(String)
      .join('---\n');
    // Not the manager of Helm, which would remove the annotations that Helm adds to the manifests.
    const apply = ['apply', '--server-side', '--field-manager=e2e', '--force-conflicts', '--dry-run=server'];
    const [{ stdout: applied }, { stdout: stored }] = [
      await session.tools.kubectl([...apply, '-o', 'json', '-f', '-'], { input: manifests }),
      await session.tools.kubectl(['get', '-o', 'json', '-f', '-'], { input: manifests }),
    ];
    const generations = (text: string): Record<string, number | undefined> =>
      Object.fromEntries(
        (JSON.parse(text) as { items: { kind: string; metadata: { name: string; generation?: number } }[] }).items.map(
          ({ kind, metadata }) => [`${kind} ${metadata.name}`, metadata.generation],
        ),
      );
    expect(Object.keys(generations(stored)).length).toBeGreaterThan(50);
    expect(generations(applied)).toEqual(generations(stored));
  });

  it.each([
    ['view', { get: 'yes', list: 'yes', patch: 'no', create: 'no', delete: 'no' }],
    ['edit', { get: 'yes', list: 'yes', patch: 'yes', create: 'no', delete: 'no' }],
  ])('lets users with the ClusterRole %s do this with UserSwarms: %j', async (role, rights) => {
    const name = `e2e-users-${role}`;
    const group = ['--as=someone', `--as-group=${name}`];
    await session.tools.kubectl(['create', 'clusterrolebinding', name, `--clusterrole=${role}`, `--group=${name}`]);
    try {
      const answers = Object.keys(rights).map(async (verb) => {
        const command = ['auth', 'can-i', verb, 'userswarms.uswarm.dev', ...group];
        return [verb, (await session.tools.kubectl(command, { mayFail: true })).stdout.trim()];
      });
      expect(Object.fromEntries(await Promise.all(answers))).toEqual(rights);
    } finally {
      await session.tools.kubectl(['delete', 'clusterrolebinding', name]);
    }
  });

  it('starts without container restarts', async () => {
    const pods = await session.api.list('Pod', { namespace: NAMESPACE.release });
    const restarted = pods
      .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
      .filter(({ restartCount }) => restartCount > 0)
      // On a busy node runc may fail to create a container ("unable to freeze"), which the kubelet repeats.
      .filter(({ lastState }) => lastState?.terminated?.reason !== 'StartError');
    expect(restarted.map(({ name, lastState }) => ({ name, lastState }))).toEqual([]);
  });

  it.each([NAMESPACE.release, NAMESPACE.runtime])(
    'runs only pods in %s that Pod Security "restricted" accepts',
    async (namespace) => {
      // The API server warns about each existing pod that it would not admit.
      const label = 'pod-security.kubernetes.io/enforce=restricted';
      const command = ['label', '--overwrite', '--dry-run=server', 'ns', namespace, label];
      const stderr = await eventually(
        async () => {
          const { stderr: warnings } = await session.tools.kubectl(command);
          // The check is limited to one second.
          return /failed to list pods|only checked against/.test(warnings) ? undefined : warnings;
        },
        { description: `all pods of ${namespace} are looked at`, timeoutMs: 60_000 },
      );
      expect(stderr).toBe('');
    },
  );

  it('enforces Pod Security "restricted" in the runtime namespace', async () => {
    const { metadata } = await session.api.get('Namespace', { name: NAMESPACE.runtime });
    expect(metadata?.labels?.['pod-security.kubernetes.io/enforce']).toBe('restricted');
    const root = {
      metadata: { name: 'root', namespace: NAMESPACE.runtime },
      spec: { containers: [{ name: 'a', image: 'b' }] },
    };
    await expect(session.api.create('Pod', root)).rejects.toThrow(/violates PodSecurity "restricted/);
  });

  it('sets no Service addresses in pods, and mounts the API token only in pods that use it', async () => {
    const pods = ours(await session.api.list('Pod', { namespace: NAMESPACE.release }));
    expect(pods.length).toBeGreaterThanOrEqual(8);
    expect(pods.filter(({ spec }) => spec?.enableServiceLinks !== false)).toEqual([]);
    const withToken = pods.filter(({ spec }) => spec?.automountServiceAccountToken !== false);
    const components = withToken.map(({ metadata }) => metadata?.labels?.['app.kubernetes.io/component']);
    expect(components.filter((name) => name !== 'test').toSorted()).toEqual(['controller', 'orchestrator']);
  });
});

describe('the search service', () => {
  it('SEARX-001: stores nothing and is reachable only inside the cluster', async () => {
    const place = { name: 'searxng', namespace: NAMESPACE.release };
    const service = await session.api.get('Service', place);
    expect(service.spec).toMatchObject({ type: 'ClusterIP', ports: [{ port: 8080 }] });
    const { spec } = await session.api.get('Deployment', place);
    const kinds = (spec?.template.spec?.volumes ?? []).map(({ name: _name, ...source }) => Object.keys(source)[0]);
    expect(new Set(kinds)).toEqual(new Set(['configMap', 'emptyDir']));
    const ingress = await session.api.get('Ingress', { name: RELEASE, namespace: NAMESPACE.release });
    const backends = ingress.spec?.rules?.flatMap(({ http }) =>
      http?.paths.map(({ backend }) => backend.service?.name),
    );
    expect(new Set(backends)).toEqual(new Set(['uswarm-orchestrator', 'uswarm-realtime-gateway']));
  });

  it('SEARX-005: runs as one replica that requests 50m CPU and 128Mi memory', async () => {
    const { spec } = await session.api.get('Deployment', { name: 'searxng', namespace: NAMESPACE.release });
    expect(spec?.replicas).toBe(1);
    expect(spec?.template.spec?.containers.map(({ resources }) => resources?.requests)).toEqual([
      { cpu: '50m', memory: '128Mi' },
    ]);
  });

  it('SEARX-002: has five general engines, an encyclopedia and a knowledge base by default', async () => {
    const port = await startDefaultSearxng(session);
    const config = await eventually(
      async () => {
        const response = await fetch(`http://127.0.0.1:${port}/config`);
        return response.ok ? ((await response.json()) as { engines: SearxngEngine[] }) : undefined;
      },
      { description: 'the configuration of SearXNG', timeoutMs: 30_000 },
    );
    const engines = config.engines.filter(({ enabled, categories }) => enabled && categories.includes('general'));
    expect(engines.map(({ name }) => name).toSorted()).toEqual(
      ['bing', 'duckduckgo', 'mojeek', 'mwmbl', 'wikidata', 'wikipedia', 'yahoo'].toSorted(),
    );
    expect(config.engines.length).toBe(7);
  });
});

interface SearxngEngine {
  name: string;
  enabled: boolean;
  categories: string[];
}

/** A second SearXNG with the chart's default engines; the release uses test engines. */
async function startDefaultSearxng({ api, onClose, settings, tools }: Session): Promise<number> {
  const namespace = NAMESPACE.search;
  const secret = 'default-searxng';
  const { searxng, ...values } = releaseValues(settings.images) as { searxng: { engines?: object } };
  delete searxng.engines;
  await api.delete('Secret', { name: secret, namespace });
  await api.create('Secret', {
    metadata: { name: secret, namespace },
    stringData: { 'searxng-secret': crypto.randomUUID() },
  });
  const templates = ['-s', 'templates/searxng/deployment.yaml', '-s', 'templates/searxng/service.yaml'];
  const rendered = await tools.helm(['template', RELEASE, CHART, '-n', namespace, '-f', '-', ...templates], {
    input: JSON.stringify({ ...values, searxng, secrets: { searxng: { existingSecret: secret } } }),
  });
  expect(parseAllDocuments(rendered.stdout).length).toBeGreaterThanOrEqual(4);
  await tools.kubectl(['apply', '-n', namespace, '-f', '-'], { input: rendered.stdout });
  onClose(() => tools.kubectl(['delete', '-n', namespace, '--wait=false', '-f', '-'], { input: rendered.stdout }));
  await tools.kubectl(['rollout', 'status', '-n', namespace, 'deployment/searxng', '--timeout=90s'], {
    timeoutMs: 100_000,
  });
  const forwarded = await forwardPort(tools, namespace, 'deployment/searxng', 8080);
  onClose(() => forwarded.close());
  return forwarded.port;
}
