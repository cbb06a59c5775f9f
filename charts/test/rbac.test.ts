import { beforeAll, describe, expect, it } from '@jest/globals';
import { container, evaluation, find, type Manifest, ofKind, render } from './support/rendering.js';

interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

const TWO_NAMESPACES = { ...evaluation, runtime: { extraNamespaces: ['team-a'] } };

let manifests: Manifest[];
beforeAll(async () => {
  manifests = await render(TWO_NAMESPACES);
});

/** The chart binds no user to these roles: Kubernetes aggregates them. */
const isAggregated = ({ metadata: { labels = {} } }: Manifest): boolean =>
  Object.keys(labels).some((label) => label.startsWith('rbac.authorization.k8s.io/aggregate-to-'));
const place = ({ metadata }: Manifest): string => `${metadata.namespace ?? '*'}/${metadata.name}`;

/** `what: verbs` of each rule. */
function rights(role: Manifest): string[] {
  return (role['rules'] as Rule[]).flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.map((resource) => {
        const kind = group === '' ? resource : `${resource}.${group}`;
        return `${kind}${resourceNames === undefined ? '' : `[${resourceNames.join()}]`}: ${verbs.join(' ')}`;
      }),
    ),
  );
}

const CHILDREN = [
  'serviceaccounts: get list watch create patch delete',
  'services: get list watch create patch delete',
  'deployments.apps: get list watch create patch delete',
  'pods: list watch delete',
  'replicasets.apps: delete',
  'events: list',
];

const DRAINED = ['serviceaccounts: list delete', 'services: list delete', 'deployments.apps: list delete'];

describe('permissions', () => {
  it('are limited to the required ones', () => {
    const roles = [...ofKind(manifests, 'ClusterRole'), ...ofKind(manifests, 'Role')].filter(
      (role) => !isAggregated(role),
    );
    expect(Object.fromEntries(roles.map((role) => [place(role), rights(role)]))).toEqual({
      '*/uswarm-orchestrator': ['userswarms.uswarm.dev: get list watch create patch delete'],
      '*/uswarm-controller': [
        'userswarms.uswarm.dev: get list watch patch',
        'userswarms/status.uswarm.dev: update',
        'userswarms/finalizers.uswarm.dev: update',
        'namespaces: list watch',
      ],
      'backend/uswarm-controller-lease': [
        'leases.coordination.k8s.io: create',
        'leases.coordination.k8s.io[uswarm-controller]: get update',
      ],
      'default/uswarm-controller-events': ['events: create patch'],
      'userswarms/uswarm-controller-children': CHILDREN,
      'team-a/uswarm-controller-children': CHILDREN,
      'userswarms/uswarm-orchestrator-runtimes': ['endpointslices.discovery.k8s.io: list watch'],
      // Hooks: exist only during an uninstall.
      '*/uswarm-drain': [
        'userswarms.uswarm.dev: get list patch delete',
        'leases.coordination.k8s.io[uswarm-controller]: get delete',
        'namespaces[userswarms,team-a]: get',
      ],
      'backend/uswarm-drain-flag': ['configmaps[uswarm-drain]: get create patch delete'],
      'backend/uswarm-orchestrator-drain-flag': ['configmaps[uswarm-drain]: get'],
      'userswarms/uswarm-drain-children': DRAINED,
      'team-a/uswarm-drain-children': DRAINED,
    });
  });

  it('are limited for the Argo CD hooks to UserSwarms and the objects of the release that they check', async () => {
    const rendered = await render({ ...TWO_NAMESPACES, drain: { hooks: 'argocd' } });
    const names = 'uswarm-orchestrator,uswarm-webhook,uswarm-controller';
    expect(rights(find(rendered, 'ClusterRole', 'uswarm-cleanup'))).toEqual([
      'userswarms.uswarm.dev: get list patch delete',
      'leases.coordination.k8s.io[uswarm-controller]: get delete',
      `deployments.apps[${names}]: get`,
      `services[${names}]: get`,
    ]);
    const roles = [...ofKind(rendered, 'ClusterRole'), ...ofKind(rendered, 'Role')].map(
      ({ metadata }) => metadata.name,
    );
    expect(roles.filter((name) => name.includes('drain'))).toEqual(['uswarm-orchestrator-drain-flag']);
  });

  it('do not contain EndpointSlices if starting runtimes are not called', async () => {
    const rendered = await render({ ...TWO_NAMESPACES, orchestrator: { callStartingRuntimes: false } });
    const names = ofKind(rendered, 'Role').map(({ metadata }) => metadata.name);
    expect(names.filter((name) => name.includes('orchestrator'))).toEqual(['uswarm-orchestrator-drain-flag']);
    const { env } = container(rendered, 'uswarm-orchestrator', 'orchestrator');
    expect(env).toContainEqual({ name: 'CALL_STARTING_RUNTIMES', value: 'false' });
  });

  it('are bound to the ServiceAccount of their component in the same namespace', () => {
    const bindings = [...ofKind(manifests, 'ClusterRoleBinding'), ...ofKind(manifests, 'RoleBinding')];
    const bound = bindings.map((binding) => {
      const { roleRef, subjects } = binding as unknown as {
        roleRef: { kind: string; name: string };
        subjects: { kind: string; name: string; namespace: string }[];
      };
      expect(binding.kind).toBe(`${roleRef.kind}Binding`);
      expect(binding.metadata.name).toBe(roleRef.name);
      expect(subjects).toEqual([
        {
          kind: 'ServiceAccount',
          name: /^uswarm-(orchestrator|controller|drain)/.exec(roleRef.name)![0],
          namespace: 'backend',
        },
      ]);
      return place(binding);
    });
    const all = [...ofKind(manifests, 'ClusterRole'), ...ofKind(manifests, 'Role')];
    const roles = all.filter((role) => !isAggregated(role)).map(place);
    expect(bound.toSorted()).toEqual(roles.toSorted());
  });

  it('contain the Lease name of the controller', () => {
    const controller = manifests.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'uswarm-controller',
    )!;
    expect(controller['spec'].template.spec.containers[0].env).toContainEqual({
      name: 'LEASE_NAME',
      value: 'uswarm-controller',
    });
  });
});

describe('the ClusterRoles of Kubernetes for users', () => {
  const granted = (rendered: readonly Manifest[], role: string): string[] =>
    ofKind(rendered, 'ClusterRole')
      .filter(({ metadata }) => metadata.labels?.[`rbac.authorization.k8s.io/aggregate-to-${role}`] === 'true')
      .flatMap(rights);

  it('may read UserSwarms and who leads, and edit and admin may change them', () => {
    const read = 'userswarms.uswarm.dev: get list watch';
    const change = 'userswarms.uswarm.dev: patch update';
    const leader = 'leases.coordination.k8s.io[uswarm-controller]: get';
    expect(Object.fromEntries(['view', 'edit', 'admin'].map((role) => [role, granted(manifests, role)]))).toEqual({
      view: [read, leader],
      edit: [read, leader, change],
      admin: [read, leader, change],
    });
  });

  it('get no rights if disabled', async () => {
    const rendered = await render({ ...evaluation, rbac: { aggregateClusterRoles: false } });
    expect(rendered.filter(isAggregated)).toEqual([]);
  });
});

describe('the FlowSchema', () => {
  it('gives the Lease of the controller, and nothing else, the priority of leader elections', async () => {
    const { spec } = ofKind(manifests, 'FlowSchema')[0]!;
    expect(spec.priorityLevelConfiguration).toEqual({ name: 'leader-election' });
    expect(spec.rules).toEqual([
      {
        subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: 'uswarm-controller', namespace: 'backend' } }],
        resourceRules: [
          {
            apiGroups: ['coordination.k8s.io'],
            resources: ['leases'],
            verbs: ['get', 'create', 'update'],
            namespaces: ['backend'],
          },
        ],
      },
    ]);
    for (const controller of [{ flowSchema: { create: false } }, { framework: 'metacontroller' }]) {
      expect(ofKind(await render({ ...evaluation, controller }), 'FlowSchema')).toEqual([]);
    }
  });
});
