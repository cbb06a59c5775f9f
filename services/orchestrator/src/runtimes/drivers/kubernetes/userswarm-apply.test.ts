import { USERSWARMS } from '@uswarm/contract/userswarm';
import type { ManagedFields } from '@uswarm/kube-client';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RuntimeSpec } from '../driver.js';
import { type Apply, planApply, type UserSwarmSettings } from './userswarm-apply.js';
import type { StoredUserSwarm } from './userswarm.js';

const SETTINGS: UserSwarmSettings = {
  namespace: 'userswarms',
  envSecret: 'model-env',
  defaultProvider: 'demo',
  defaultModel: 'sonnet',
};
const SETTINGS_AS_CONFIG = {
  defaultProvider: 'demo',
  defaultModel: 'sonnet',
  envSecretRef: { name: 'model-env' },
};
const SPEC: RuntimeSpec = { workspaceId: 'w', userId: 'u', suspended: false };
const SUSPENDED = { ...SPEC, suspended: true };
const LABELS = { 'app.kubernetes.io/managed-by': 'uswarm-orchestrator' };

type StatusPhase = NonNullable<StoredUserSwarm['status']>['phase'];
const READY = { type: 'Ready', status: 'False', message: '', lastTransitionTime: '2026-11-21T10:00:00Z' } as const;

/** Managed fields as the API server stores them: `config.envSecretRef` is atomic. */
function fieldsOf(value: object): object {
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      `f:${key}`,
      typeof field === 'object' && key !== 'envSecretRef' ? fieldsOf(field) : {},
    ]),
  );
}

function serverSideApply(before: StoredUserSwarm | undefined, { object, force }: Apply): StoredUserSwarm {
  const { labels, annotations } = object.metadata;
  const optionalAnnotations = annotations === undefined ? {} : { annotations };
  const foreign = (before?.metadata.managedFields ?? []).filter(({ manager }) => manager !== 'uswarm-orchestrator');
  const own = {
    manager: 'uswarm-orchestrator',
    operation: 'Apply',
    fieldsV1: fieldsOf({ metadata: { labels, ...optionalAnnotations }, spec: object.spec }),
  };
  const suspend = object.spec.suspend ?? (foreign.some(setsSuspend) ? before?.spec.suspend : false) ?? false;
  return {
    metadata: {
      name: object.metadata.name,
      uid: before?.metadata.uid ?? 'created',
      labels,
      ...optionalAnnotations,
      managedFields: [...(force ? foreign.filter((entry) => !setsSuspend(entry)) : foreign), own],
    },
    spec: {
      userId: object.spec.userId,
      placement: object.spec.placement,
      runtime: { port: 42_618 },
      config: { ...foreignConfig(before, foreign), ...object.spec.config },
      suspend,
    },
    ...(before?.status === undefined ? {} : { status: before.status }),
  };
}

const setsSuspend = ({ fieldsV1 }: ManagedFields): boolean => JSON.stringify(fieldsV1).includes('f:suspend');

function foreignConfig(before: StoredUserSwarm | undefined, foreign: ManagedFields[]): object {
  const owned = JSON.stringify(foreign);
  return Object.fromEntries(Object.entries(before?.spec.config ?? {}).filter(([key]) => owned.includes(`f:${key}`)));
}

/** Sets spec fields as another manager, as `kubectl patch` does. */
function patched(swarm: StoredUserSwarm, spec: Partial<StoredUserSwarm['spec']>): StoredUserSwarm {
  const entry = { manager: 'kubectl-patch', operation: 'Update', fieldsV1: fieldsOf({ spec }) };
  const left = (swarm.metadata.managedFields ?? []).map((known) => ({
    ...known,
    fieldsV1: without(known.fieldsV1 ?? {}, entry.fieldsV1),
  }));
  const config = { ...swarm.spec.config, ...spec.config };
  return {
    ...swarm,
    metadata: { ...swarm.metadata, managedFields: [...left, entry] },
    spec: { ...swarm.spec, ...spec, config },
  };
}

function without(fields: object, taken: object): object {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, below]) => {
      const other = (taken as Record<string, object>)[key];
      if (other === undefined) return [[key, below]];
      const rest = without(below as object, other);
      return Object.keys(rest).length === 0 ? [] : [[key, rest]];
    }),
  );
}

const plan = (spec: RuntimeSpec, stored?: StoredUserSwarm, settings = SETTINGS) =>
  planApply(USERSWARMS, settings, spec, stored);
/** @throws Error if nothing is planned */
function applied(spec: RuntimeSpec, stored?: StoredUserSwarm, settings = SETTINGS): StoredUserSwarm {
  const planned = plan(spec, stored, settings);
  if (planned === undefined) throw new Error('nothing was planned');
  return serverSideApply(stored, planned);
}

describe('the plan', () => {
  it('creates a missing UserSwarm with all fields except an image', () => {
    expect(plan(SPEC)).toEqual({
      force: false,
      object: {
        apiVersion: 'uswarm.dev/v1alpha1',
        kind: 'UserSwarm',
        metadata: { name: 'workspace-w', labels: LABELS },
        spec: {
          userId: 'u',
          placement: { runtimeNamespace: 'userswarms' },
          config: SETTINGS_AS_CONFIG,
          suspend: false,
        },
      },
    });
  });

  it('applies only to the object with the uid that was read', () => {
    expect(plan(SUSPENDED, applied(SPEC))?.object.metadata.uid).toBe('created');
  });

  it('is empty if the UserSwarm has all fields and the orchestrator owns them', () => {
    expect(plan(SPEC, applied(SPEC))).toBeUndefined();
    expect(plan(SUSPENDED, applied(SUSPENDED))).toBeUndefined();
  });

  it('has no config without settings, and is empty afterwards', () => {
    const none = { namespace: 'n', envSecret: undefined, defaultProvider: undefined, defaultModel: undefined };
    const stored = applied(SPEC, undefined, none);
    expect(stored.spec.config).toEqual({});
    expect(plan(SPEC, stored, none)).toBeUndefined();
    const theirs = patched(stored, { config: { defaultModel: 'theirs' } });
    expect(plan(SPEC, theirs, none)).toBeUndefined();
  });

  it.each<[string, Partial<UserSwarmSettings>]>([
    ['another value', { defaultModel: 'opus' }],
    ['another Secret', { envSecret: 'other' }],
    ['one less', { defaultProvider: undefined }],
  ])('applies changed settings once: %s', (_case, change) => {
    const settings = { ...SETTINGS, ...change };
    const stored = applied(SPEC, applied(SPEC), settings);
    expect(plan(SPEC, stored, settings)).toBeUndefined();
  });

  it('never changes the namespace of a runtime', () => {
    expect(plan(SPEC, applied(SPEC), { ...SETTINGS, namespace: 'elsewhere' })).toBeUndefined();
  });

  it('applies fields again that only other managers own', () => {
    const stored = applied(SPEC);
    expect(plan(SPEC, { ...stored, metadata: { ...stored.metadata, managedFields: [] } })).toBeDefined();
  });

  it('ignores managed fields of the status subresource', () => {
    const stored = applied(SUSPENDED);
    const status = {
      manager: 'controller',
      operation: 'Update',
      subresource: 'status',
      fieldsV1: fieldsOf({ spec: { suspend: true } }),
    };
    stored.metadata.managedFields?.push(status);
    expect(plan(SPEC, stored)?.object.spec.suspend).toBe(false);
  });
});

describe('changed settings', () => {
  const OTHERS = { ...SETTINGS, defaultProvider: undefined, defaultModel: 'opus', envSecret: 'other' };
  const NEW = { defaultModel: 'opus', envSecretRef: { name: 'other' } };
  const inPhase = (stored: StoredUserSwarm, phase: StatusPhase, reason = ''): StoredUserSwarm => ({
    ...stored,
    status: { phase, conditions: [{ ...READY, reason }] },
  });
  const active = inPhase(applied(SPEC), 'Ready');

  it('do not replace the pod of a runtime that is Ready, starts, or lost its readiness', () => {
    expect(plan(SPEC, active, OTHERS)).toBeUndefined();
    expect(plan(SPEC, inPhase(active, 'Progressing', 'Starting'), OTHERS)).toBeUndefined();
    const none = { namespace: 'n', envSecret: undefined, defaultProvider: undefined, defaultModel: undefined };
    expect(plan(SPEC, inPhase(applied(SPEC, undefined, none), 'Ready'), SETTINGS)).toBeUndefined();
  });

  it('are left out of other changes, as are fields of other managers', () => {
    const theirs = patched({ ...active, status: { phase: 'Ready', pendingRevision: 'r2' } }, { config: NEW });
    const planned = plan({ ...SPEC, rollout: { requested: true } }, theirs, OTHERS);
    expect(planned?.object.spec.config).toEqual({ defaultProvider: 'demo' });
  });

  it('are applied with the next suspension, for idleness or for a rollout', () => {
    expect(applied(SUSPENDED, active, OTHERS).spec.config).toEqual(NEW);
    const pending: StoredUserSwarm = { ...active, status: { phase: 'Ready', pendingRevision: 'r2' } };
    const requested = applied({ ...SPEC, rollout: { requested: true } }, pending, OTHERS);
    expect(requested.spec.config).toEqual(SETTINGS_AS_CONFIG);
    expect(applied(SUSPENDED, requested, OTHERS).spec.config).toEqual(NEW);
  });

  it('are applied with a resume, and while an operator has suspended the runtime', () => {
    const isSuspended = inPhase(applied(SUSPENDED, active), 'Ready');
    expect(applied(SPEC, isSuspended, OTHERS).spec).toMatchObject({ suspend: false, config: NEW });
    expect(applied(SPEC, patched(active, { suspend: true }), OTHERS).spec).toMatchObject({
      suspend: true,
      config: NEW,
    });
  });

  it.each([
    ['Error', 'PolicyDenied'],
    ['Progressing', 'SecretMissing'],
    ['Progressing', 'Queued'],
  ] as const)('are applied immediately to a runtime that fails to start: %s, %s', (phase, reason) => {
    const stored = applied(SPEC, inPhase(active, phase, reason), OTHERS);
    expect(stored.spec.config).toEqual(NEW);
    expect(plan(SPEC, stored, OTHERS)).toBeUndefined();
  });
});

describe('suspend', () => {
  it('follows the desired state', () => {
    expect(plan(SUSPENDED, applied(SPEC))).toMatchObject({ force: false, object: { spec: { suspend: true } } });
    expect(plan(SPEC, applied(SUSPENDED))).toMatchObject({ force: false, object: { spec: { suspend: false } } });
  });

  it('is not changed if only another manager owns it', () => {
    const suspendedByOperator = patched(applied(SPEC), { suspend: true });
    expect(suspendedByOperator.spec.suspend).toBe(true);
    const planned = plan(SPEC, suspendedByOperator);
    // The orchestrator no longer owns the field.
    expect(planned).toBeUndefined();
  });

  it('stays true after the orchestrator gives up a field that another manager also owns', () => {
    const stored = applied(SUSPENDED);
    const theirs = { manager: 'operator', operation: 'Apply', fieldsV1: fieldsOf({ spec: { suspend: true } }) };
    stored.metadata.managedFields?.push(theirs);
    const planned = plan(SPEC, stored);
    expect(planned).toMatchObject({ force: false });
    expect(planned?.object.spec).not.toHaveProperty('suspend');
    const after = applied(SPEC, stored);
    expect(after.spec.suspend).toBe(true);
    expect(plan(SPEC, after)).toBeUndefined();
  });

  it('overwrites the value false of another manager by force', () => {
    const planned = plan(SUSPENDED, patched(applied(SUSPENDED), { suspend: false }));
    expect(planned).toMatchObject({ force: true, object: { spec: { suspend: true } } });
  });

  it('shares the value false with another manager without force', () => {
    expect(plan(SPEC, patched(applied(SUSPENDED), { suspend: false }))).toMatchObject({
      force: false,
      object: { spec: { suspend: false } },
    });
  });
});

describe('the rollout request', () => {
  const REQUESTED = 'uswarm.dev/rollout-wanted';
  const withPending = (stored: StoredUserSwarm, pendingRevision?: string): StoredUserSwarm => ({
    ...stored,
    status: pendingRevision === undefined ? {} : { pendingRevision },
  });
  const requesting = { ...SPEC, rollout: { requested: true } };
  const annotationsOf = (spec: RuntimeSpec, stored: StoredUserSwarm) => plan(spec, stored)?.object.metadata.annotations;

  it('names the pending revision, and is written once', () => {
    const pending = withPending(applied(SPEC), 'r2');
    expect(annotationsOf(requesting, pending)).toEqual({ [REQUESTED]: 'r2' });
    const requested = applied(requesting, pending);
    expect(plan(requesting, requested)).toBeUndefined();
    expect(plan(SPEC, requested)).toBeUndefined();
    expect(annotationsOf(requesting, withPending(requested, 'r3'))).toEqual({ [REQUESTED]: 'r3' });
  });

  it('is not written if no revision is pending', () => {
    expect(plan(requesting, applied(SPEC))).toBeUndefined();
  });

  it('is removed when it is withdrawn, or when no revision is pending', () => {
    const requested = applied(requesting, withPending(applied(SPEC), 'r2'));
    const withdrawn = applied({ ...SPEC, rollout: { requested: false } }, requested);
    expect(withdrawn.metadata.annotations).toBeUndefined();
    expect(plan(SPEC, withdrawn)).toBeUndefined();
    expect(applied(SPEC, withPending(requested)).metadata.annotations).toBeUndefined();
  });

  it('stays during the suspension for the rollout, and is removed by a resume or a suspension for idleness', () => {
    const requested = applied(requesting, withPending(applied(SPEC), 'r2'));
    const suspended = applied(SUSPENDED, requested);
    expect(suspended.metadata.annotations).toEqual({ [REQUESTED]: 'r2' });
    const replaced = withPending(suspended);
    expect(plan(SUSPENDED, replaced)).toBeUndefined();
    const resumed = applied(SPEC, replaced);
    expect(resumed.spec.suspend).toBe(false);
    expect(resumed.metadata.annotations).toBeUndefined();
    const idle = applied({ ...SUSPENDED, rollout: { requested: false } }, requested);
    expect(idle.spec.suspend).toBe(true);
    expect(idle.metadata.annotations).toBeUndefined();
  });
});

describe('the report of an unreachable runtime', () => {
  const SINCE = new Date('2026-11-21T10:00:00.500Z');
  const reporting = { ...SPEC, unreachableSince: SINCE };

  it('is written once, kept by checks that report nothing, and removed when the runtime responds', () => {
    const reported = applied(reporting, applied(SPEC));
    expect(reported.metadata.annotations).toEqual({ 'uswarm.dev/unreachable-since': '2026-11-21T10:00:00.500Z' });
    expect(plan(reporting, reported)).toBeUndefined();
    expect(plan(SPEC, reported)).toBeUndefined();
    const healed = applied({ ...SPEC, unreachableSince: null }, reported);
    expect(healed.metadata.annotations).toBeUndefined();
    expect(plan({ ...SPEC, unreachableSince: null }, healed)).toBeUndefined();
  });
});

it('fields of other managers keep their values and cause no writes', () => {
  const theirs = patched(applied(SPEC), { config: { defaultModel: 'theirs', envSecretRef: { name: 'theirs' } } });
  expect(plan(SPEC, theirs)).toBeUndefined();
  expect(plan(SUSPENDED, theirs)?.object.spec.config).toEqual({ defaultProvider: 'demo' });
});

it('one apply converges from any history, keeps the config of active runtimes, and overrides only suspend', () => {
  const change = fc.oneof(
    fc.record({ desired: fc.boolean() }),
    fc.record({ suspend: fc.boolean() }),
    fc.record({ model: fc.constantFrom('sonnet', 'opus', 'theirs') }),
    fc.record({ settings: fc.constantFrom('sonnet', 'opus', undefined) }),
    fc.record({ phase: fc.constantFrom('Ready', 'Progressing', 'Suspended') }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      let [spec, settings, stored] = [SPEC, SETTINGS, applied(SPEC)];
      for (const each of changes) {
        if ('desired' in each) spec = { ...SPEC, suspended: each.desired };
        else if ('settings' in each) settings = { ...SETTINGS, defaultModel: each.settings };
        else if ('phase' in each) stored = { ...stored, status: { phase: each.phase } };
        else if ('suspend' in each) stored = patched(stored, { suspend: each.suspend });
        else stored = patched(stored, { config: { defaultModel: each.model } });
        const planned = plan(spec, stored, settings);
        const before = stored;
        if (planned !== undefined) stored = serverSideApply(stored, planned);
        expect(plan(spec, stored, settings)).toBeUndefined();
        const isActive = before.status?.phase === 'Ready' && !before.spec.suspend && !spec.suspended;
        const kept = isActive ? before : stored;
        expect(stored.spec.config).toEqual(kept.spec.config);
        // A suspension by an operator is never overridden.
        const foreign = (before.metadata.managedFields ?? []).filter(({ manager }) => manager === 'kubectl-patch');
        expect(stored.spec.suspend).toBe(spec.suspended || (before.spec.suspend && foreign.some(setsSuspend)));
      }
    }),
  );
});
