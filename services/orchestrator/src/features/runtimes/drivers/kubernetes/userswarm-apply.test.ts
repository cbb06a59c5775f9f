import { type ManagedFields, USERSWARMS } from '@uswarm/contract/userswarm';
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

/** As the API server keeps who set what: `config.envSecretRef` is atomic. */
function fieldsOf(value: object): object {
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      `f:${key}`,
      typeof field === 'object' && key !== 'envSecretRef' ? fieldsOf(field) : {},
    ]),
  );
}

/** What the API server has after an apply, as far as it matters here. */
function serverSideApply(before: StoredUserSwarm | undefined, { object, force }: Apply): StoredUserSwarm {
  const { labels, annotations } = object.metadata;
  const marks = annotations === undefined ? {} : { annotations };
  const theirs = (before?.metadata.managedFields ?? []).filter(({ manager }) => manager !== 'uswarm-orchestrator');
  const ours = {
    manager: 'uswarm-orchestrator',
    operation: 'Apply',
    fieldsV1: fieldsOf({ metadata: { labels, ...marks }, spec: object.spec }),
  };
  const suspend = object.spec.suspend ?? (theirs.some(setsSuspend) ? before?.spec.suspend : false) ?? false;
  return {
    metadata: {
      name: object.metadata.name,
      uid: before?.metadata.uid ?? 'made',
      labels,
      ...marks,
      managedFields: [...(force ? theirs.filter((entry) => !setsSuspend(entry)) : theirs), ours],
    },
    spec: {
      userId: object.spec.userId,
      placement: object.spec.placement,
      runtime: { port: 42_618 },
      config: { ...theirConfig(before, theirs), ...object.spec.config },
      suspend,
    },
    ...(before?.status === undefined ? {} : { status: before.status }),
  };
}

const setsSuspend = ({ fieldsV1 }: ManagedFields): boolean => JSON.stringify(fieldsV1).includes('f:suspend');

function theirConfig(before: StoredUserSwarm | undefined, theirs: ManagedFields[]): object {
  const owned = JSON.stringify(theirs);
  return Object.fromEntries(Object.entries(before?.spec.config ?? {}).filter(([key]) => owned.includes(`f:${key}`)));
}

/** Somebody else sets fields of the spec, as `kubectl patch` does. */
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
/** Writes what is planned. @throws Error where nothing is */
function applied(spec: RuntimeSpec, stored?: StoredUserSwarm, settings = SETTINGS): StoredUserSwarm {
  const planned = plan(spec, stored, settings);
  if (planned === undefined) throw new Error('nothing was planned');
  return serverSideApply(stored, planned);
}

describe('what is applied', () => {
  it('is the whole wish for a UserSwarm that is not there, without an image', () => {
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

  it('is for the very object that was seen', () => {
    expect(plan(SUSPENDED, applied(SPEC))?.object.metadata.uid).toBe('made');
  });

  it('is nothing while everything is there and ours', () => {
    expect(plan(SPEC, applied(SPEC))).toBeUndefined();
    expect(plan(SUSPENDED, applied(SUSPENDED))).toBeUndefined();
  });

  it('without any settings has no config, and is nothing afterwards', () => {
    const none = { namespace: 'n', envSecret: undefined, defaultProvider: undefined, defaultModel: undefined };
    const stored = applied(SPEC, undefined, none);
    expect([stored.spec.config, plan(SPEC, stored, none)]).toEqual([{}, undefined]);
    const theirs = patched(stored, { config: { defaultModel: 'theirs' } });
    expect(plan(SPEC, theirs, none)).toBeUndefined();
  });

  it.each<[string, Partial<UserSwarmSettings>]>([
    ['another value', { defaultModel: 'opus' }],
    ['another Secret', { envSecret: 'other' }],
    ['one less', { defaultProvider: undefined }],
  ])('is written again with %s, once', (_what, change) => {
    const settings = { ...SETTINGS, ...change };
    const stored = applied(SPEC, applied(SPEC), settings);
    expect(plan(SPEC, stored, settings)).toBeUndefined();
  });

  it('never moves a runtime', () => {
    expect(plan(SPEC, applied(SPEC), { ...SETTINGS, namespace: 'elsewhere' })).toBeUndefined();
  });

  it('is written again where it is there by somebody else alone', () => {
    const stored = applied(SPEC);
    expect(plan(SPEC, { ...stored, metadata: { ...stored.metadata, managedFields: [] } })).toBeDefined();
  });

  it('does not take what others set in the status for theirs', () => {
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

describe('other settings', () => {
  const OTHERS = { ...SETTINGS, defaultProvider: undefined, defaultModel: 'opus', envSecret: 'other' };
  const NEW = { defaultModel: 'opus', envSecretRef: { name: 'other' } };
  const inPhase = (stored: StoredUserSwarm, phase: StatusPhase, reason = ''): StoredUserSwarm => ({
    ...stored,
    status: { phase, conditions: [{ ...READY, reason }] },
  });
  const works = inPhase(applied(SPEC), 'Ready');

  it('do not stop a runtime that works, and none that starts or only lost its readiness', () => {
    expect(plan(SPEC, works, OTHERS)).toBeUndefined();
    expect(plan(SPEC, inPhase(works, 'Progressing', 'Starting'), OTHERS)).toBeUndefined();
    const none = { namespace: 'n', envSecret: undefined, defaultProvider: undefined, defaultModel: undefined };
    expect(plan(SPEC, inPhase(applied(SPEC, undefined, none), 'Ready'), SETTINGS)).toBeUndefined();
  });

  it('are left out of what is written meanwhile, as is what somebody else set', () => {
    const theirs = patched({ ...works, status: { phase: 'Ready', pendingRevision: 'r2' } }, { config: NEW });
    const asks = plan({ ...SPEC, rollout: { requested: true } }, theirs, OTHERS);
    expect(asks?.object.spec.config).toEqual({ defaultProvider: 'demo' });
  });

  it('come with its next suspension, whatever it is for', () => {
    expect(applied(SUSPENDED, works, OTHERS).spec.config).toEqual(NEW);
    const waits: StoredUserSwarm = { ...works, status: { phase: 'Ready', pendingRevision: 'r2' } };
    const asked = applied({ ...SPEC, rollout: { requested: true } }, waits, OTHERS);
    expect(asked.spec.config).toEqual(SETTINGS_AS_CONFIG);
    expect(applied(SUSPENDED, asked, OTHERS).spec.config).toEqual(NEW);
  });

  it('come when it wakes, and while an operator holds it', () => {
    const asleep = inPhase(applied(SUSPENDED, works), 'Ready');
    expect(applied(SPEC, asleep, OTHERS).spec).toMatchObject({ suspend: false, config: NEW });
    expect(applied(SPEC, patched(works, { suspend: true }), OTHERS).spec).toMatchObject({ suspend: true, config: NEW });
  });

  it.each([
    ['Error', 'PolicyDenied'],
    ['Progressing', 'SecretMissing'],
    ['Progressing', 'Queued'],
  ] as const)('come at once where it does not come up: %s, %s', (phase, reason) => {
    const stored = applied(SPEC, inPhase(works, phase, reason), OTHERS);
    expect([stored.spec.config, plan(SPEC, stored, OTHERS)]).toEqual([NEW, undefined]);
  });
});

describe('suspend', () => {
  it('follows the wish', () => {
    expect(plan(SUSPENDED, applied(SPEC))).toMatchObject({ force: false, object: { spec: { suspend: true } } });
    expect(plan(SPEC, applied(SUSPENDED))).toMatchObject({ force: false, object: { spec: { suspend: false } } });
  });

  it('that somebody else set is left to them, also by force never', () => {
    const held = patched(applied(SPEC), { suspend: true });
    expect(held.spec.suspend).toBe(true);
    const planned = plan(SPEC, held);
    // Nothing of ours is left to take back: the field is theirs alone.
    expect(planned).toBeUndefined();
  });

  it('that somebody else set too stays when we let it go', () => {
    const stored = applied(SUSPENDED);
    const theirs = { manager: 'operator', operation: 'Apply', fieldsV1: fieldsOf({ spec: { suspend: true } }) };
    stored.metadata.managedFields?.push(theirs);
    const planned = plan(SPEC, stored);
    expect(planned).toMatchObject({ force: false });
    expect(planned?.object.spec).not.toHaveProperty('suspend');
    const after = applied(SPEC, stored);
    expect([after.spec.suspend, plan(SPEC, after)]).toEqual([true, undefined]);
  });

  it('false of somebody else is taken back by force', () => {
    const planned = plan(SUSPENDED, patched(applied(SUSPENDED), { suspend: false }));
    expect(planned).toMatchObject({ force: true, object: { spec: { suspend: true } } });
  });

  it('false of somebody else is shared, without force', () => {
    expect(plan(SPEC, patched(applied(SUSPENDED), { suspend: false }))).toMatchObject({
      force: false,
      object: { spec: { suspend: false } },
    });
  });
});

describe('the wish to make way for a new revision', () => {
  const WANTED = 'uswarm.dev/rollout-wanted';
  const waitsFor = (stored: StoredUserSwarm, pendingRevision?: string): StoredUserSwarm => ({
    ...stored,
    status: pendingRevision === undefined ? {} : { pendingRevision },
  });
  const asks = { ...SPEC, rollout: { requested: true } };
  const marksOf = (spec: RuntimeSpec, stored: StoredUserSwarm) => plan(spec, stored)?.object.metadata.annotations;

  it('is for the revision that waits, and is written once', () => {
    const waiting = waitsFor(applied(SPEC), 'r2');
    expect(marksOf(asks, waiting)).toEqual({ [WANTED]: 'r2' });
    const asked = applied(asks, waiting);
    expect([plan(asks, asked), plan(SPEC, asked)]).toEqual([undefined, undefined]);
    expect(marksOf(asks, waitsFor(asked, 'r3'))).toEqual({ [WANTED]: 'r3' });
  });

  it('is nothing where nothing waits', () => {
    expect(plan(asks, applied(SPEC))).toBeUndefined();
  });

  it('is taken back where it no longer holds, by itself where nothing waits any more', () => {
    const asked = applied(asks, waitsFor(applied(SPEC), 'r2'));
    const taken = applied({ ...SPEC, rollout: { requested: false } }, asked);
    expect(taken.metadata.annotations).toBeUndefined();
    expect(plan(SPEC, taken)).toBeUndefined();
    expect(applied(SPEC, waitsFor(asked)).metadata.annotations).toBeUndefined();
  });

  it('stays while it is stopped for it, goes with the wish to run, and is not that of one that sleeps', () => {
    const asked = applied(asks, waitsFor(applied(SPEC), 'r2'));
    const stopped = applied(SUSPENDED, asked);
    expect(stopped.metadata.annotations).toEqual({ [WANTED]: 'r2' });
    const replaced = waitsFor(stopped);
    expect(plan(SUSPENDED, replaced)).toBeUndefined();
    const runs = applied(SPEC, replaced);
    expect([runs.spec.suspend, runs.metadata.annotations]).toEqual([false, undefined]);
    const asleep = applied({ ...SUSPENDED, rollout: { requested: false } }, asked);
    expect([asleep.spec.suspend, asleep.metadata.annotations]).toEqual([true, undefined]);
  });
});

it('what somebody else changed stays theirs, and costs no writes', () => {
  const theirs = patched(applied(SPEC), { config: { defaultModel: 'theirs', envSecretRef: { name: 'theirs' } } });
  expect(plan(SPEC, theirs)).toBeUndefined();
  expect(plan(SUSPENDED, theirs)?.object.spec.config).toEqual({ defaultProvider: 'demo' });
});

it('whoever changes what in between, one write is enough, stops nothing that works, and takes nothing but suspend', () => {
  const change = fc.oneof(
    fc.record({ wish: fc.boolean() }),
    fc.record({ suspend: fc.boolean() }),
    fc.record({ model: fc.constantFrom('sonnet', 'opus', 'theirs') }),
    fc.record({ settings: fc.constantFrom('sonnet', 'opus', undefined) }),
    fc.record({ phase: fc.constantFrom('Ready', 'Progressing', 'Suspended') }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      let [spec, settings, stored] = [SPEC, SETTINGS, applied(SPEC)];
      for (const each of changes) {
        if ('wish' in each) spec = { ...SPEC, suspended: each.wish };
        else if ('settings' in each) settings = { ...SETTINGS, defaultModel: each.settings };
        else if ('phase' in each) stored = { ...stored, status: { phase: each.phase } };
        else if ('suspend' in each) stored = patched(stored, { suspend: each.suspend });
        else stored = patched(stored, { config: { defaultModel: each.model } });
        const planned = plan(spec, stored, settings);
        const before = stored;
        if (planned !== undefined) stored = serverSideApply(stored, planned);
        expect(plan(spec, stored, settings)).toBeUndefined();
        const works = before.status?.phase === 'Ready' && !before.spec.suspend && !spec.suspended;
        const kept = works ? before : stored;
        expect(stored.spec.config).toEqual(kept.spec.config);
        // A hold outlives every wish to run.
        const theirs = (before.metadata.managedFields ?? []).filter(({ manager }) => manager === 'kubectl-patch');
        expect(stored.spec.suspend).toBe(spec.suspended || (before.spec.suspend && theirs.some(setsSuspend)));
      }
    }),
  );
});
