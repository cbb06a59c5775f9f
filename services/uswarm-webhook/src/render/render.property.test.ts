import { describe, expect, it } from '@jest/globals';
import { START, START_QUEUED, UserSwarmStatus } from '@uswarm/contract/userswarm';
import { checkResponse, createManualClock, keyOf, ModelWorld, refOf } from '@uswarm/testkit';
import fc from 'fast-check';
import { ownChildren, requests, settings, specs } from '../../test/arbitraries.js';
import { testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { render } from './render.js';
import type { DatabaseState } from './settings.js';

const databases = fc.constantFrom<DatabaseState>('unset', 'reachable', 'unreachable');
const copy = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** Key order as another program might send it. */
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

describe('rendering, whatever is observed', () => {
  it('answers as the protocol and the schema of the status want it', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, databases, async (pending, configured, database) => {
        const request = await pending;
        const answer = checkResponse(request, copy(render(request, configured, await testFacts({ database }))));
        expect(UserSwarmStatus.safeParse(answer.status).error).toBeUndefined();
      }),
    );
  });

  it('HOOK-004: gives equal bytes for equal requests and changes none of them', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, databases, async (pending, configured, database) => {
        const request = await pending;
        const before = JSON.stringify(request);
        const facts = await testFacts({ database });
        const answer = JSON.stringify(render(request, configured, facts));
        expect(JSON.stringify(request)).toBe(before);
        expect(JSON.stringify(render(copy(request), configured, facts))).toBe(answer);
        // Nor does the order of objects in the request matter, except to the list of what is still to go.
        if (request.finalizing) return;
        const other = { ...request, children: reversed(request.children), related: reversed(request.related) };
        expect(render(other, configured, facts).status).toEqual(JSON.parse(answer).status);
      }),
    );
  });

  it('is idempotent: its own status fed back changes nothing, whatever the time', async () => {
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

  it('never leaves a child of its own out because of an error', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, async (pending, configured) => {
        const request = { ...(await pending), finalizing: false };
        const { status, children } = render(request, configured, await testFacts());
        const kept = new Set(children.map((child) => keyOf(refOf(child as never))));
        const lost = ownChildren(request)
          .map((child) => keyOf(refOf(child)))
          .filter((key) => !kept.has(key));
        // One that moved namespaces is to be rendered anew; an error moves nothing.
        const isError = status['phase'] === 'Error';
        expect(isError ? lost : children.slice(3)).toEqual([]);
        const ready = (status as UserSwarmStatus).conditions?.find(({ type }) => type === 'Ready');
        const mayBeFewer = isError || request.parent.metadata.annotations?.[START] === START_QUEUED;
        expect(mayBeFewer || children.length === 3).toBe(true);
        expect(ready?.reason === 'Queued' && replicasOf(children).includes(1)).toBe(false);
      }),
    );
  });

  it('is finalized exactly when nothing is shown any more, and asks for nothing until then', async () => {
    await fc.assert(
      fc.asyncProperty(requests, settings, async (pending, configured) => {
        const request = { ...(await pending), finalizing: true };
        const shown = [...Object.values(request.children), request.related['Pod.v1'] ?? {}];
        const empty = shown.every((group) => Object.keys(group).length === 0);
        const { children, finalized, status } = render(request, configured, await testFacts());
        expect([children, finalized, status['phase']]).toEqual([[], empty, 'Deleting']);
      }),
    );
  });
});

describe('in the model of a cluster', () => {
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

  it('is at a fixpoint after three syncs, whatever the spec', async () => {
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

  it('ends every deletion, whatever happened before', async () => {
    const changes = fc.array(fc.tuple(specs, fc.nat(6)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(changes, flavours, async (steps, flavour) => {
        const world = createWorld(flavour);
        for (const [spec, seconds] of steps) {
          const swarm = userSwarm({ ...spec, placement: {} });
          await world.apply({ ...swarm, metadata: { name: 'workspace-a' } } as never);
          await world.pass(seconds);
        }
        await world.delete({ kind: 'UserSwarm', name: 'workspace-a' });
        await world.pass(20);
        const left = ['UserSwarm', 'Deployment', 'Service', 'ServiceAccount', 'Pod'].flatMap((kind) =>
          world.api.list(kind),
        );
        expect(left).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
