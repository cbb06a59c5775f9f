import { beforeAll, describe, expect, it } from '@jest/globals';
import { drainFlagExpiry } from '@uswarm/contract/userswarm';
import { startKnownCluster } from './known-cluster.js';
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
  refusal,
  render,
} from './rendering.js';

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
/** As helm does it: by weight. */
const inOrder = (event: string): string[] =>
  hooks(event)
    .toSorted((left, right) => hookOf(left).weight - hookOf(right).weight)
    .map(shown);

const RIGHTS = ['ServiceAccount uswarm-drain', 'ClusterRole uswarm-drain', 'ClusterRoleBinding uswarm-drain'];

describe('the hooks of a removal', () => {
  it('give the rights first, then drain', () => {
    const order = inOrder('pre-delete');
    expect(order.slice(0, 3).toSorted()).toEqual(RIGHTS.toSorted());
    expect(order.slice(3)).toEqual(['Job uswarm-drain']);
  });

  it('lower the flag and take off finalizers when everything else is gone', () => {
    const order = inOrder('post-delete');
    expect(order.slice(0, 3).toSorted()).toEqual(RIGHTS.toSorted());
    expect(order.slice(3)).toEqual(['ConfigMap uswarm-drain', 'Job uswarm-drain-finish']);
  });

  it('never raise the flag, and delete it after a removal and before a rollback', () => {
    const flags = ofKind(manifests, 'ConfigMap').filter(({ metadata }) => metadata.name === 'uswarm-drain');
    expect(flags.map(hookOf)).toEqual([
      { events: ['post-delete', 'pre-rollback'], weight: -10, policies: ['before-hook-creation', 'hook-succeeded'] },
    ]);
    // Void also during the moment for which it exists.
    expect(drainFlagExpiry(flags[0]!)).toBe(0);
  });

  it('run on no install and no upgrade, which other tools do on every sync', () => {
    const events = new Set(manifests.flatMap((manifest) => hookOf(manifest).events));
    expect([...events].toSorted()).toEqual(['post-delete', 'pre-delete', 'pre-rollback', 'test']);
  });

  it('take everything else away again, and replace what an earlier try has left', () => {
    const others = [...hooks('pre-delete'), ...hooks('post-delete')].filter(({ kind }) => kind !== 'ConfigMap');
    expect(others).toHaveLength(8);
    for (const manifest of others) {
      expect([shown(manifest), hookOf(manifest).policies]).toEqual([
        shown(manifest),
        ['before-hook-creation', 'hook-succeeded'],
      ]);
    }
  });

  it('are all that is there while nothing is removed, but for the rights in runtime namespaces', () => {
    const lasting = manifests.filter(
      ({ metadata }) =>
        metadata.labels?.['app.kubernetes.io/component'] === 'drain' && !metadata.annotations?.['helm.sh/hook'],
    );
    // A hook in a namespace that was deleted would fail the removal.
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

describe('the Jobs of a removal', () => {
  it('show their log when helm removes the release', () => {
    for (const name of ['uswarm-drain', 'uswarm-drain-finish']) {
      const policy = find(manifests, 'Job', name).metadata.annotations?.['helm.sh/hook-output-log-policy'];
      expect(policy).toBe('hook-succeeded,hook-failed');
    }
  });

  it('end by themselves, before helm stops waiting, and go on when their pod is killed', () => {
    const { spec } = find(manifests, 'Job', 'uswarm-drain');
    expect(spec.activeDeadlineSeconds).toBeGreaterThan(240);
    expect(spec.activeDeadlineSeconds).toBeLessThan(300);
    expect(spec.backoffLimit).toBeGreaterThan(0);
    expect(spec.podFailurePolicy.rules.map(({ action }: { action: string }) => action)).toEqual(['Ignore', 'FailJob']);
    expect(spec.template.spec.restartPolicy).toBe('Never');
  });

  it('run a program of the controller image, which knows flag, namespaces, times and what is kept', async () => {
    const own = await render({
      ...external,
      drain: { hooks: 'helm', timeoutSeconds: 100, graceSeconds: 7 },
      runtime: { ...external.runtime, extraNamespaces: ['team-a'] },
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

  it('list what is kept as NOTES.txt does', async () => {
    const job = container(await render(evaluation), 'uswarm-drain', 'drain');
    const keeps = job.env!.find(({ name }) => name === 'DRAIN_KEEPS')!.value!;
    const notes = await helm(['install', '--dry-run=client'], evaluation);
    for (const line of keeps.split('\n')) expect(notes).toContain(`\n    ${line}\n`);
  });
});

describe('the flag', () => {
  it('is what the orchestrator and the drain look for', () => {
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
  it('removes nothing, and says that it has to be done by hand', async () => {
    const off = { ...external, drain: { enabled: false } };
    const without = await render(off);
    expect(without.filter((manifest) => manifest.metadata.annotations?.['helm.sh/hook']).map(shown)).toEqual([
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

it('a grace that is longer than the time there is is refused', async () => {
  expect(await refusal({ ...external, drain: { timeoutSeconds: 60, graceSeconds: 60 } })).toMatch(
    /^drain\.graceSeconds is not below drain\.timeoutSeconds; .*\.$/,
  );
});

const identity = ({ apiVersion, kind, metadata }: Manifest): string =>
  `${apiVersion.split('/')[0]} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
const isOf = (component: string) => (manifest: Manifest) =>
  manifest.metadata.labels?.['app.kubernetes.io/component'] === component;

describe('drain.hooks', () => {
  const { drain: _, ...plain } = external;

  it.each(['auto', 'helm', 'argocd', 'none'])('%s renders no identity twice', async (chosen) => {
    const identities = (await render({ ...plain, drain: { hooks: chosen } })).map(identity);
    expect(identities.filter((each, index) => identities.indexOf(each) !== index)).toEqual([]);
  });

  it('auto renders nothing in `helm template` that removes UserSwarms', async () => {
    const rendered = await render(plain);
    expect(ofKind(rendered, 'Job')).toEqual([]);
    expect(rendered.filter(isOf('drain')).map(shown)).toEqual([
      'Role uswarm-orchestrator-drain-flag',
      'RoleBinding uswarm-orchestrator-drain-flag',
    ]);
    expect(rendered.flatMap((manifest) => hookOf(manifest).events)).toEqual(['test', 'test']);
    expect(await render({ ...plain, drain: { hooks: 'none' } })).toEqual(rendered);
  });

  it('auto renders the hooks of Helm for a cluster, so that helm uninstall drains', async () => {
    const cluster = await startKnownCluster(manifests);
    try {
      const verb = ['template', '--dry-run=server', '--disable-openapi-validation', '--kubeconfig', cluster.kubeconfig];
      const rendered = parseManifests(await helm(verb, plain));
      expect(rendered.filter(isOf('drain')).map(shown)).toEqual(manifests.filter(isOf('drain')).map(shown));
      await expect(helm(verb, { ...plain, drain: { hooks: 'argocd' } })).rejects.toThrow(
        /drain.hooks=argocd is for Argo CD/,
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
    // Under either framework one of these is part of the release.
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

  it('changes no pod of the services, so that a change of the tool restarts nothing', async () => {
    const [helmPods, argoPods] = await Promise.all(
      ['helm', 'argocd'].map(async (chosen) =>
        ofKind(await render({ ...plain, drain: { hooks: chosen } }), 'Deployment'),
      ),
    );
    expect(argoPods).toEqual(helmPods);
  });
});
