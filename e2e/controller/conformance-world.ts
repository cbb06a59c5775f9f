import { setTimeout as sleep } from 'node:timers/promises';
import type { Capability, World } from '@uswarm/testkit';
import { eventually } from '../src/eventually.js';
import { imageOf } from '../src/settings.js';
import { type ControllerFixture, FIXTURE_RESYNC_S } from './fixture.js';

/** The hook stays the same here, and the controller alone says who may start: neither can be played. */
export const CAPABILITIES: readonly Capability[] = ['pods', 'reasons', 'namespaces', 'hook faults', 'counting'];
/** Longer than two cores need to start a handful of pods. */
const WITHIN_S = 120;

/** A real cluster as the scenarios of the conformance kit see it; writes are those that name `swarm`. */
export function conformanceWorld(fixture: ControllerFixture, userSwarm: string, spareNamespace: string): World {
  const { images } = fixture.settings;
  const good = imageOf(images, 'agent-runtime');
  return {
    capabilities: new Set(CAPABILITIES),
    namespace: fixture.namespace,
    spareNamespace,
    resyncSeconds: FIXTURE_RESYNC_S,
    images: {
      good,
      other: imageOf(images, 'agent-runtime-other'),
      missing: 'localhost/uswarm/there-is-none:1',
      // Without its settings it stops at once.
      crashing: imageOf(images, 'searxng-client'),
      hungry: good,
      forbidden: 'registry.invalid/somebody/else:1',
    },
    async apply(object) {
      await fixture.apply(object);
    },
    async patch(ref, patch) {
      await fixture.patch(ref, patch);
    },
    delete: (ref) => fixture.delete(ref),
    get: (ref) => fixture.get(ref),
    list: (kind, namespace) => fixture.list(kind, namespace),
    async waitFor(ref, what, holds, seconds = WITHIN_S) {
      let last: unknown;
      const look = async (): Promise<true | undefined> => {
        const object = await fixture.get(ref);
        last = object?.['status'];
        return holds(object) ? true : undefined;
      };
      await eventually(`${ref.kind} ${ref.name} ${what}`, { withinMs: seconds * 1_000 }, look).catch(
        (error: unknown) => {
          throw new Error(`${String(error)}; its status: ${JSON.stringify(last)}`, { cause: error });
        },
      );
    },
    pass: async (seconds) => void (await sleep(seconds * 1_000)),
    setHook: (mode) => fixture.hook.setMode(mode),
    writes: async () =>
      fixture.proxy.passed.filter((passed) => fixture.proxy.isWrite(passed) && passed.path.includes(userSwarm)).length,
  };
}
