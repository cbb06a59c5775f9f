import { describe, expect, it } from '@jest/globals';
import { START, START_QUEUED, UserSwarmStatus } from '@uswarm/contract/userswarm';
import { checkResponse, createManualClock, keyOf, ModelWorld, refOf } from '@uswarm/hook-conformance';
import fc from 'fast-check';
import { ownChildren, requests, settings, specs } from '../../test/arbitraries.js';
import { testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { render } from './render.js';
import type { DatabaseState } from './settings.js';

const databases = fc.constantFrom<DatabaseState>('unset', 'reachable', 'unreachable');
const copy = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** The same value with the reverse key order. */
function reversed<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(reversed) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, reversed(inner)]),
  ) as Value;
}

const replicasOf = (children: readonly object[]): unknown[] =>
  children.map((child) => (child as { spec?: { replicas?: unknown } }).spec?.replicas);

describe('rendering of arbitrary requests', () => {
  it('every response conforms to the hook protocol and the status schema', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, databases, async (pending, configured, database) => {
        const request = await pending;
        const response = checkResponse(request, copy(render(request, configured, await testFacts({ database }))));
        expect(UserSwarmStatus.safeParse(response.status).error).toBeUndefined();
      }),
    );
  });

  it('HOOK-004: equal requests give equal bytes, and rendering does not change the request', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, databases, async (pending, configured, database) => {
        const request = await pending;
        const before = JSON.stringify(request);
        const facts = await testFacts({ database });
        const response = JSON.stringify(render(request, configured, facts));
        expect(JSON.stringify(request)).toBe(before);
        expect(JSON.stringify(render(copy(request), configured, facts))).toBe(response);
        // The order of objects in the request matters only to the list of objects that remain to be deleted.
        if (request.finalizing) return;
        const other = { ...request, children: reversed(request.children), related: reversed(request.related) };
        expect(render(other, configured, facts).status).toEqual(JSON.parse(response).status);
      }),
    );
  });

  it('rendering is idempotent: the returned status as input gives the same response at any time', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, databases, async (pending, configured, database) => {
        const request = await pending;
        const once = render(request, configured, await testFacts({ database }));
        const parent = { ...request.parent, status: once.status as UserSwarmStatus };
        const later = await testFacts({ database, now: new Date('2031-01-01T00:00:00Z') });
        expect(render({ ...request, parent }, configured, later)).toEqual(once);
      }),
    );
  });

  it('an error never removes an owned child from the response', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, async (pending, configured) => {
        const request = { ...(await pending), finalizing: false };
        const { status, children } = render(request, configured, await testFacts());
        const rendered = new Set(children.map((child) => keyOf(refOf(child as never))));
        const lost = ownChildren(request)
          .map((child) => keyOf(refOf(child)))
          .filter((key) => !rendered.has(key));
        // If the namespace changes, the children are rendered in the new one; an error changes no namespace.
        const isError = status['phase'] === 'Error';
        expect(isError ? lost : children.slice(3)).toEqual([]);
        const ready = (status as UserSwarmStatus).conditions?.find(({ type }) => type === 'Ready');
        const mayBeIncomplete = isError || request.parent.metadata.annotations?.[START] === START_QUEUED;
        expect(mayBeIncomplete || children.length === 3).toBe(true);
        expect(ready?.reason === 'Queued' && replicasOf(children).includes(1)).toBe(false);
      }),
    );
  });

  it('a deletion is finalized exactly when no object is observed any more, and renders no children before that', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, async (pending, configured) => {
        const request = { ...(await pending), finalizing: true };
        const observed = [...Object.values(request.children), request.related['Pod.v1'] ?? {}];
        const empty = observed.every((group) => Object.keys(group).length === 0);
        const { children, finalized, status } = render(request, configured, await testFacts());
        expect({ children, finalized, phase: status['phase'] }).toEqual({
          children: [],
          finalized: empty,
          phase: 'Deleting',
        });
      }),
    );
  });
});

describe('rendering in the cluster model', () => {
  const createWorld = (flavour: 'builtin' | 'metacontroller') => {
    const clock = createManualClock();
    const world = new ModelWorld({
      clock,
      flavour,
      apply: flavour === 'builtin' ? 'server-side' : 'three-way',
      hook: async (request) => render(request, testSettings(), await testFacts({ now: clock.now() })),
    });
    return world;
  };
  const flavours = fc.constantFrom<'builtin' | 'metacontroller'>('builtin', 'metacontroller');

  it('every spec reaches a fixpoint after three syncs', async () => {
    await fc.assert(
      fc.asyncProperty(specs, flavours, async (spec, flavour) => {
        const world = createWorld(flavour);
        await world.apply({
          apiVersion: 'uswarm.dev/v1alpha1',
          kind: 'UserSwarm',
          metadata: { name: 'workspace-a' },
          spec,
        });
        for (let sync = 0; sync < 3; sync += 1) await world.framework.sync('workspace-a');
        const writes = await world.writes();
        for (let sync = 0; sync < 3; sync += 1) await world.framework.sync('workspace-a');
        expect(await world.writes()).toBe(writes);
      }),
    );
  });

  it('every deletion completes, regardless of previous changes', async () => {
    const changes = fc.array(fc.tuple(specs, fc.nat(6)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(changes, flavours, async (steps, flavour) => {
        const world = createWorld(flavour);
        for (const [spec, seconds] of steps) {
          const created = userSwarm({ ...spec, placement: {} });
          await world.apply({ ...created, metadata: { name: 'workspace-a' } } as never);
          await world.pass(seconds);
        }
        await world.delete({ kind: 'UserSwarm', name: 'workspace-a' });
        await world.pass(20);
        const remaining = ['UserSwarm', 'Deployment', 'Service', 'ServiceAccount', 'Pod'].flatMap((kind) =>
          world.api.list(kind),
        );
        expect(remaining).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
