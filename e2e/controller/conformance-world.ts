import { setTimeout as sleep } from 'node:timers/promises';
import type { Capability, World } from '@uswarm/hook-conformance';
import { eventually } from '@uswarm/testkit/eventually';
import { imageOf } from '../support/settings.js';
import { type ControllerFixture, FIXTURE_RESYNC_S } from './fixture.js';

/** This fixture cannot change hook responses or the start limiter. */
export const CAPABILITIES: readonly Capability[] = ['pods', 'reasons', 'namespaces', 'hook faults', 'counting'];
/** Longer than a few pods take to start on two cores. */
const WITHIN_S = 120;

/** Adapts a real cluster to the conformance scenarios. `writes` counts requests that name `userSwarm`. */
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
      missing: 'localhost/uswarm/missing:1',
      // Exits immediately without its settings.
      crashing: imageOf(images, 'searxng-client'),
      hungry: good,
      forbidden: 'registry.invalid/forbidden:1',
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
      const probe = async (): Promise<boolean> => {
        const object = await fixture.get(ref);
        last = object?.['status'];
        return holds(object);
      };
      await eventually(probe, { description: `${ref.kind} ${ref.name} ${what}`, timeoutMs: seconds * 1_000 }).catch(
        (error: unknown) => {
          throw new Error(`${String(error)}; its status: ${JSON.stringify(last)}`, { cause: error });
        },
      );
    },
    pass: async (seconds) => void (await sleep(seconds * 1_000)),
    setHook: (mode) => fixture.hook.setMode(mode),
    writes: async () =>
      fixture.proxy.requests.filter((request) => fixture.proxy.isWrite(request) && request.path.includes(userSwarm))
        .length,
  };
}
