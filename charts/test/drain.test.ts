import { beforeAll, describe, expect, it } from '@jest/globals';
import { drainFlagExpiry } from '@uswarm/contract/userswarm';
import { startKnownCluster } from './support/known-cluster.js';
import {
  container,
  evaluation,
  external,
  find,
  helm,
  type Manifest,
  ofKind,
  parseManifests,
  podTemplates,
  rejection,
  render,
} from './support/rendering.js';

let manifests: Manifest[];
beforeAll(async () => {
  manifests = await render(external);
});

const hookOf = ({ metadata }: Manifest) => ({
  events: metadata.annotations?.['helm.sh/hook']?.split(',') ?? [],
  weight: Number(metadata.annotations?.['helm.sh/hook-weight']),
  policies: metadata.annotations?.['helm.sh/hook-delete-policy']?.split(',') ?? [],
});
const hooks = (event: string): Manifest[] => manifests.filter((manifest) => hookOf(manifest).events.includes(event));
const shown = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;
/** In the order of helm: by weight. */
const inOrder = (event: string): string[] =>
  hooks(event)
    .toSorted((left, right) => hookOf(left).weight - hookOf(right).weight)
    .map(shown);

const PERMISSIONS = ['ServiceAccount uswarm-drain', 'ClusterRole uswarm-drain', 'ClusterRoleBinding uswarm-drain'];

describe('the hooks of helm uninstall', () => {
  it('create the permissions before the drain', () => {
    const order = inOrder('pre-delete');
    expect(order.slice(0, 3).toSorted()).toEqual(PERMISSIONS.toSorted());
    expect(order.slice(3)).toEqual(['Job uswarm-drain']);
  });

  it('delete the flag and remove finalizers after everything else is deleted', () => {
    const order = inOrder('post-delete');
    expect(order.slice(0, 3).toSorted()).toEqual(PERMISSIONS.toSorted());
    expect(order.slice(3)).toEqual(['ConfigMap uswarm-drain', 'Job uswarm-drain-finish']);
  });

  it('never create a valid flag, and delete it after an uninstall and before a rollback', () => {
    const flags = ofKind(manifests, 'ConfigMap').filter(({ metadata }) => metadata.name === 'uswarm-drain');
    expect(flags.map(hookOf)).toEqual([
      { events: ['post-delete', 'pre-rollback'], weight: -10, policies: ['before-hook-creation', 'hook-succeeded'] },
    ]);
    // The flag is expired even while it exists.
    expect(drainFlagExpiry(flags[0]!)).toBe(0);
  });

  it('do not run on install or upgrade, which other tools do on every sync', () => {
    const events = new Set(manifests.flatMap((manifest) => hookOf(manifest).events));
    expect([...events].toSorted()).toEqual(['post-delete', 'pre-delete', 'pre-rollback', 'test']);
  });

  it('delete all other objects, and replace those of an earlier attempt', () => {
    const others = [...hooks('pre-delete'), ...hooks('post-delete')].filter(({ kind }) => kind !== 'ConfigMap');
    expect(others).toHaveLength(8);
    for (const manifest of others) {
      expect({ object: shown(manifest), policies: hookOf(manifest).policies }).toEqual({
        object: shown(manifest),
        policies: ['before-hook-creation', 'hook-succeeded'],
      });
    }
  });

  it('contain all objects of the drain except the permissions in runtime namespaces', () => {
    const lasting = manifests.filter(
      ({ metadata }) =>
        metadata.labels?.['app.kubernetes.io/component'] === 'drain' && !metadata.annotations?.['helm.sh/hook'],
    );
    // A hook in a deleted namespace would fail the uninstall.
    expect(lasting.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`).toSorted()).toEqual([
      'NetworkPolicy backend/uswarm-drain',
      'Role backend/uswarm-drain-flag',
      'Role backend/uswarm-orchestrator-drain-flag',
      'Role userswarms/uswarm-drain-children',
      'RoleBinding backend/uswarm-drain-flag',
      'RoleBinding backend/uswarm-orchestrator-drain-flag',
      'RoleBinding userswarms/uswarm-drain-children',
    ]);
    for (const { metadata } of hooks('pre-delete')) expect([undefined, 'backend']).toContain(metadata.namespace);
  });
});

describe('the Jobs of helm uninstall', () => {
  it('print their log during the uninstall', () => {
    for (const name of ['uswarm-drain', 'uswarm-drain-finish']) {
      const policy = find(manifests, 'Job', name).metadata.annotations?.['helm.sh/hook-output-log-policy'];
      expect(policy).toBe('hook-succeeded,hook-failed');
    }
  });

  it('end before the timeout of helm, and continue when their pod is killed', () => {
    const { spec } = find(manifests, 'Job', 'uswarm-drain');
    expect(spec.activeDeadlineSeconds).toBeGreaterThan(240);
    expect(spec.activeDeadlineSeconds).toBeLessThan(300);
    expect(spec.backoffLimit).toBeGreaterThan(0);
    expect(spec.podFailurePolicy.rules.map(({ action }: { action: string }) => action)).toEqual(['Ignore', 'FailJob']);
    expect(spec.template.spec.restartPolicy).toBe('Never');
  });

  it('run the drain of the controller image with flag, namespaces, timeouts and kept objects', async () => {
    const own = await render({
      ...external,
      drain: { hooks: 'helm', timeoutSeconds: 100, graceSeconds: 7 },
      runtime: { extraNamespaces: ['team-a'] },
    });
    const drain = container(own, 'uswarm-drain', 'drain');
    expect(drain.image).toBe(container(own, 'uswarm-controller', 'controller').image);
    expect(drain.args).toEqual(['/app/dist/drain-main.js', 'drain']);
    expect(container(own, 'uswarm-drain-finish', 'drain').args).toEqual(['/app/dist/drain-main.js', 'finish']);
    const { DRAIN_KEEPS, ...env } = Object.fromEntries(
      drain.env!.map(({ name, value, valueFrom }) => [name, value ?? valueFrom]),
    );
    expect(env).toEqual({
      DRAIN_FLAG: 'backend/uswarm-drain',
      DRAIN_RUN: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/controller-uid']" } },
      RUNTIME_NAMESPACES: 'userswarms,team-a',
      DRAIN_GRACE_S: '7',
      DRAIN_TIMEOUT_S: '100',
      CONTROLLER_LEASE: 'backend/uswarm-controller',
    });
    expect(DRAIN_KEEPS).toMatch(/userswarms\.uswarm\.dev[^]*namespace userswarms/);
  });

  it('list the same kept objects as NOTES.txt', async () => {
    const job = container(await render(evaluation), 'uswarm-drain', 'drain');
    const keeps = job.env!.find(({ name }) => name === 'DRAIN_KEEPS')!.value!;
    const notes = await helm(['install', '--dry-run=client'], evaluation);
    for (const line of keeps.split('\n')) expect(notes).toContain(`\n    ${line}\n`);
  });
});

describe('the drain flag', () => {
  it('has the same name in the orchestrator and in the drain', () => {
    for (const [owner, name] of [
      ['uswarm-orchestrator', 'orchestrator'],
      ['uswarm-drain', 'drain'],
    ] as const) {
      expect(container(manifests, owner, name).env).toContainEqual({
        name: 'DRAIN_FLAG',
        value: 'backend/uswarm-drain',
      });
    }
  });
});

describe('drain.enabled=false', () => {
  it('deletes nothing, and NOTES.txt explains the manual steps', async () => {
    const off = { ...external, drain: { enabled: false } };
    const without = await render(off);
    expect(without.filter((manifest) => manifest.metadata.annotations?.['helm.sh/hook']).map(shown)).toEqual([
      'NetworkPolicy uswarm-test',
      'ServiceAccount uswarm-test',
      'Pod uswarm-test',
    ]);
    expect(ofKind(without, 'Job')).toEqual([]);
    const { env } = container(without, 'uswarm-orchestrator', 'orchestrator');
    expect(env!.map(({ name }) => name)).not.toContain('DRAIN_FLAG');
    expect(podTemplates(without).map(({ owner }) => owner)).not.toContain('uswarm-drain');
    const notes = await helm(['install', '--dry-run=client'], off);
    expect(notes).toContain('Delete the UserSwarms first');
  });
});

it('rejects a grace period that is not less than the timeout', async () => {
  expect(await rejection({ ...external, drain: { timeoutSeconds: 60, graceSeconds: 60 } })).toMatch(
    /^drain\.graceSeconds must be less than drain\.timeoutSeconds: .*\.$/,
  );
});

const identity = ({ apiVersion, kind, metadata }: Manifest): string =>
  `${apiVersion.split('/')[0]} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
const isOf = (component: string) => (manifest: Manifest) =>
  manifest.metadata.labels?.['app.kubernetes.io/component'] === component;

describe('drain.hooks', () => {
  const { drain: _, ...plain } = external;

  it.each(['auto', 'helm', 'argocd', 'none'])('%s renders no object twice', async (chosen) => {
    const identities = (await render({ ...plain, drain: { hooks: chosen } })).map(identity);
    expect(identities.filter((each, index) => identities.indexOf(each) !== index)).toEqual([]);
  });

  it('auto renders no drain in `helm template`', async () => {
    const rendered = await render(plain);
    expect(ofKind(rendered, 'Job')).toEqual([]);
    expect(rendered.filter(isOf('drain')).map(shown)).toEqual([
      'Role uswarm-orchestrator-drain-flag',
      'RoleBinding uswarm-orchestrator-drain-flag',
    ]);
    expect(rendered.flatMap((manifest) => hookOf(manifest).events)).toEqual(['test', 'test', 'test']);
    expect(await render({ ...plain, drain: { hooks: 'none' } })).toEqual(rendered);
  });

  it('auto renders the hooks of Helm for a cluster', async () => {
    const cluster = await startKnownCluster(manifests);
    try {
      const verb = ['template', '--dry-run=server', '--disable-openapi-validation', '--kubeconfig', cluster.kubeconfig];
      const rendered = parseManifests(await helm(verb, plain));
      expect(rendered.filter(isOf('drain')).map(shown)).toEqual(manifests.filter(isOf('drain')).map(shown));
      await expect(helm(verb, { ...plain, drain: { hooks: 'argocd' } })).rejects.toThrow(
        /drain.hooks=argocd requires Argo CD/,
      );
    } finally {
      await cluster.close();
    }
  });

  it('argocd renders a Job that does nothing while the release exists', async () => {
    const rendered = await render({ ...plain, drain: { hooks: 'argocd' } });
    const job = container(rendered, 'uswarm-cleanup', 'drain');
    expect(job.args).toEqual(['/app/dist/drain-main.js', 'cleanup']);
    const env = Object.fromEntries(job.env!.map(({ name, value }) => [name, value]));
    expect(env).toEqual({
      RELEASE_NAMESPACE: 'backend',
      RELEASE_COMPONENTS: 'uswarm-orchestrator,uswarm-webhook,uswarm-controller',
      CONTROLLER_LEASE: 'backend/uswarm-controller',
      DRAIN_TIMEOUT_S: '150',
    });
    // With either framework, the release contains one of these.
    const lasting = rendered.filter(({ kind }) => kind === 'Deployment' || kind === 'Service').map(shown);
    expect(lasting).toEqual(expect.arrayContaining(['Deployment uswarm-orchestrator', 'Service uswarm-orchestrator']));
    expect(rendered.filter(isOf('cleanup')).map(shown).toSorted()).toEqual([
      'ClusterRole uswarm-cleanup',
      'ClusterRoleBinding uswarm-cleanup',
      'Job uswarm-cleanup',
      'NetworkPolicy uswarm-cleanup',
      'ServiceAccount uswarm-cleanup',
    ]);
  });

  it('does not change the pods of services, so that a change of the hooks restarts nothing', async () => {
    const [helmPods, argoPods] = await Promise.all(
      ['helm', 'argocd'].map(async (chosen) =>
        ofKind(await render({ ...plain, drain: { hooks: chosen } }), 'Deployment'),
      ),
    );
    expect(argoPods).toEqual(helmPods);
  });
});
