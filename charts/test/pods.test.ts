import { beforeAll, describe, expect, it } from '@jest/globals';
import { GatewayConfig } from '@uswarm/realtime-gateway/config';
import { loadConfig } from '@uswarm/service-kit';
import {
  type Container,
  container,
  containersOf,
  environmentOf,
  evaluation,
  find,
  type Manifest,
  modelProvider,
  ofKind,
  type PodTemplate,
  podTemplates,
  rejection,
  render,
} from './support/rendering.js';

/** A release with all components. */
const VALUES = { ...evaluation, ...modelProvider };

let manifests: Manifest[];
let pods: PodTemplate[];
beforeAll(async () => {
  manifests = await render(VALUES);
  pods = podTemplates(manifests);
});

const DEPLOYMENTS = [
  'searxng',
  'uswarm-controller',
  'uswarm-model-gateway',
  'uswarm-orchestrator',
  'uswarm-postgres',
  'uswarm-realtime-gateway',
  'uswarm-searxng-client',
  'uswarm-valkey',
  'uswarm-webhook',
];

const HOOKS = ['uswarm-drain', 'uswarm-drain-finish', 'uswarm-test'];

function eachContainer(check: (container: Container, pod: PodTemplate) => void): void {
  for (const pod of pods) for (const each of containersOf(pod)) check(each, pod);
}

describe('workloads', () => {
  it('are the documented ones', () => {
    expect(
      ofKind(manifests, 'Deployment')
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    ).toEqual(DEPLOYMENTS);
    expect(pods.map(({ owner }) => owner).toSorted()).toEqual([...DEPLOYMENTS, ...HOOKS].toSorted());
    expect(new Set(manifests.flatMap(({ metadata }) => metadata.namespace ?? []))).toEqual(
      new Set(['backend', 'default', 'userswarms']),
    );
  });

  it.each([
    ['uswarm-orchestrator', { http: 8080, internal: 8082, ops: 8081 }],
    ['uswarm-realtime-gateway', { http: 8080, ops: 8081 }],
    ['uswarm-model-gateway', { http: 8080, ops: 8081 }],
    ['uswarm-webhook', { http: 8080, ops: 8081 }],
    ['uswarm-controller', { ops: 8081 }],
    ['uswarm-searxng-client', { http: 8080, ops: 8081 }],
    ['searxng', { http: 8080 }],
    ['uswarm-postgres', { postgres: 5432 }],
    ['uswarm-valkey', { valkey: 6379 }],
  ])('include Service %s, which targets the ports of its pods', (name, ports) => {
    const service = find(manifests, 'Service', name, 'backend');
    const listed = service['spec'].ports as { name: string; port: number; targetPort: string }[];
    expect(Object.fromEntries(listed.map((each) => [each.name, each.port]))).toEqual(ports);
    const pod = pods.find(({ owner }) => owner === name)!;
    for (const each of listed) {
      expect(each.targetPort).toBe(each.name);
      expect(pod.spec.containers[0].ports).toContainEqual({ name: each.name, containerPort: each.port });
    }
    expect(pod.labels).toMatchObject(service['spec'].selector);
    const others = pods.filter(({ owner }) => owner !== name);
    expect(others.map(({ labels }) => labels)).not.toContainEqual(expect.objectContaining(service['spec'].selector));
  });

  it('have different selectors in another release', async () => {
    const other = await render(VALUES, { release: 'second', namespace: 'elsewhere' });
    const names = ofKind(other, 'Deployment').map(({ metadata }) => metadata.name);
    expect(names.toSorted()).toEqual(DEPLOYMENTS.map((name) => name.replace('uswarm-', 'second-uswarm-')).toSorted());
    expect(ofKind(other, 'Deployment').map(({ metadata }) => metadata.namespace)).toEqual(
      DEPLOYMENTS.map(() => 'elsewhere'),
    );
  });
});

describe('every pod', () => {
  it('runs as a non-root user with the default seccomp profile', () => {
    for (const { spec } of pods) {
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const id of ['runAsUser', 'runAsGroup', 'fsGroup']) expect(spec.securityContext[id]).toBeGreaterThan(0);
      for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'hostUsers']) expect(spec).not.toHaveProperty(field);
    }
    eachContainer(({ securityContext }) =>
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      }),
    );
  });

  it('has only volume types that Pod Security restricted allows, and mounts all volumes', () => {
    const allowed = ['configMap', 'emptyDir', 'persistentVolumeClaim', 'secret'];
    for (const pod of pods) {
      const volumes = (pod.spec.volumes ?? []) as { name: string; emptyDir?: { sizeLimit?: string } }[];
      for (const { name, ...source } of volumes)
        expect({ name, allowed }).toEqual({ name, allowed: expect.arrayContaining(Object.keys(source)) });
      const scratch = volumes.flatMap(({ emptyDir }) => (emptyDir === undefined ? [] : [emptyDir]));
      for (const { sizeLimit } of scratch) expect(sizeLimit).toMatch(/^\d+[MG]i$/);
      const mounted = containersOf(pod).flatMap((each) => each.volumeMounts ?? []);
      expect(new Set(mounted.map(({ name }) => name))).toEqual(new Set(volumes.map(({ name }) => name)));
    }
  });

  it('has no service environment variables', () => {
    for (const { spec } of pods) expect(spec.enableServiceLinks).toBe(false);
  });

  it('has its own ServiceAccount, with a token only if it uses the Kubernetes API', () => {
    for (const { owner, spec } of pods) {
      const account = find(manifests, 'ServiceAccount', spec.serviceAccountName, 'backend');
      expect(account['automountServiceAccountToken']).toBe(false);
      // Both uninstall Jobs share one.
      expect(account.metadata.name).toBe(owner.replace(/-finish$/, ''));
    }
    const withToken = pods.filter(({ spec }) => spec.automountServiceAccountToken !== false);
    expect(withToken.map(({ owner }) => owner).toSorted()).toEqual([
      'uswarm-controller',
      'uswarm-drain',
      'uswarm-drain-finish',
      'uswarm-orchestrator',
      'uswarm-test',
    ]);
  });

  it('has resource requests and limits', () => {
    eachContainer(({ resources, name }) => {
      expect({ name, ...resources }).toEqual({
        name,
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
    });
  });

  it('has probes if it serves requests', () => {
    for (const { owner, spec } of pods.filter(({ hook }) => hook === undefined)) {
      const [serving] = spec.containers as Container[];
      const probes = [serving!.startupProbe, serving!.livenessProbe, serving!.readinessProbe];
      const ports = serving!.ports!.map(({ name }) => name);
      for (const probe of probes as { httpGet?: { port: string }; tcpSocket?: { port: string } }[]) {
        const { port } = (probe.httpGet ?? probe.tcpSocket)!;
        expect({ owner, ports }).toEqual({ owner, ports: expect.arrayContaining([port]) });
      }
    }
    const paths = (owner: string, name: string): unknown[] => {
      const { startupProbe, livenessProbe, readinessProbe } = container(manifests, owner, name);
      return [startupProbe, livenessProbe, readinessProbe].map((probe) => (probe as { httpGet: object }).httpGet);
    };
    const live = { path: '/livez', port: 'ops' };
    expect(paths('uswarm-orchestrator', 'orchestrator')).toEqual([live, live, { path: '/readyz', port: 'ops' }]);
    expect(paths('uswarm-webhook', 'webhook')).toEqual([live, live, { path: '/healthz', port: 'http' }]);
  });

  it('does not wait for its termination grace period when the platform restarts a hung process', () => {
    for (const { owner, spec } of pods.filter(({ hook }) => hook === undefined)) {
      const [serving] = spec.containers as Container[];
      // A database needs the time to end cleanly.
      if (['uswarm-postgres', 'uswarm-valkey'].includes(owner)) continue;
      const grace = [serving!.startupProbe, serving!.livenessProbe, serving!.readinessProbe].map(
        (probe) => (probe as { terminationGracePeriodSeconds?: number }).terminationGracePeriodSeconds,
      );
      expect({ owner, grace }).toEqual({
        owner,
        grace: owner === 'searxng' ? [undefined, 5, undefined] : [5, 5, undefined],
      });
    }
  });

  it('has an image with a fixed tag', () => {
    eachContainer(({ image, imagePullPolicy }) => {
      expect(image).toMatch(/^[^/]+\.[^/]+\/[^:]+:[^:]*\d[^:]*$/);
      expect(image).not.toContain(':latest');
      expect(imagePullPolicy).toBe('IfNotPresent');
    });
  });
});

it('all pods together request less than one core', () => {
  const millis = pods
    .filter(({ hook }) => hook === undefined)
    .map(({ spec }) => {
      const needs = (each: Container): number => Number.parseInt(each.resources.requests['cpu']!, 10);
      const sum = (spec.containers as Container[]).reduce((total, each) => total + needs(each), 0);
      return Math.max(sum, ...((spec.initContainers ?? []) as Container[]).map(needs));
    });
  eachContainer(({ resources }) => expect(resources.requests['cpu']).toMatch(/^\d+m$/));
  expect(millis.reduce((total, each) => total + each, 0)).toBeLessThan(1000);
});

describe('rolling updates', () => {
  it('never run two Postgres servers with the same data', () => {
    const strategies = Object.fromEntries(
      ofKind(manifests, 'Deployment').map(({ metadata, spec }) => [metadata.name, spec.strategy.type]),
    );
    expect(strategies).toMatchObject({ 'uswarm-postgres': 'Recreate', 'uswarm-orchestrator': 'RollingUpdate' });
  });

  it('replace the webhooks one at a time after they are removed from the endpoints', () => {
    const webhook = find(manifests, 'Deployment', 'uswarm-webhook');
    expect(webhook.spec).toMatchObject({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    const { lifecycle, terminationGracePeriodSeconds } = {
      ...webhook.spec.template.spec,
      ...container(manifests, 'uswarm-webhook', 'webhook'),
    };
    expect(lifecycle).toEqual({ preStop: { sleep: { seconds: 5 } } });
    expect(terminationGracePeriodSeconds).toBeGreaterThan(5 + 15);
    expect(find(manifests, 'PodDisruptionBudget', 'uswarm-webhook').spec).toMatchObject({ maxUnavailable: 1 });
    expect(webhook.spec.template.spec.topologySpreadConstraints).toHaveLength(2);
  });

  it.each([15_000, 30_000])(
    'give the gateway time to disconnect its clients within %d ms',
    async (shutdownWindowMs) => {
      const settings = { ...VALUES, gateway: { shutdownWindowMs, shutdownSocketsPerSecond: 50 } };
      const rendered = await render(settings);
      const gateway = container(rendered, 'uswarm-realtime-gateway', 'realtime-gateway');
      expect(loadConfig(GatewayConfig, environmentOf(rendered, gateway))).toMatchObject({
        SHUTDOWN_WINDOW_MS: shutdownWindowMs,
        SHUTDOWN_SOCKETS_PER_S: 50,
      });
      const { spec } = find(rendered, 'Deployment', 'uswarm-realtime-gateway');
      // 5 s of preStop, the window, and the process' margin.
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(5 + shutdownWindowMs / 1_000 + 8);
    },
  );

  it('reject a grace period of the gateway that is too short for its shutdown', async () => {
    const gateway = { shutdownWindowMs: 20_000, terminationGracePeriodSeconds: 34 };
    expect(await rejection({ ...VALUES, gateway })).toMatch(
      /^gateway\.terminationGracePeriodSeconds must be at least 15/,
    );
  });

  it('migrate the database in an init container and not in the orchestrator', () => {
    const migrations = container(manifests, 'uswarm-orchestrator', 'migrations');
    const orchestrator = container(manifests, 'uswarm-orchestrator', 'orchestrator');
    expect(migrations.image).toBe(orchestrator.image);
    expect(migrations.args).toEqual(['/app/dist/migrate-main.js']);
    expect(orchestrator.args).toEqual(['/app/dist/main.js']);
    expect(orchestrator.env).toContainEqual({ name: 'MIGRATE', value: 'false' });
    const secrets = migrations.env!.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.key ?? []);
    expect(secrets).toEqual(['database-url']);
  });
});
