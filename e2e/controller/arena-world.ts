import { setTimeout as sleep } from 'node:timers/promises';
import type { Capability, World } from '@uswarm/testkit';
import { eventually } from '../src/eventually.js';
import { imageOf } from '../src/settings.js';
import { type Arena, ARENA_RESYNC_S } from './arena.js';

/** The hook stays the same here, and the controller alone says who may start: neither can be played. */
export const CAPABILITIES: readonly Capability[] = ['pods', 'reasons', 'namespaces', 'hook faults', 'counting'];
/** Longer than two cores need to start a handful of pods. */
const WITHIN_S = 120;

/** A real cluster as the scenarios of the conformance kit see it; writes are those that name `swarm`. */
export function arenaWorld(arena: Arena, swarm: string, spareNamespace: string): World {
  const { images } = arena.settings;
  const good = imageOf(images, 'agent-runtime');
  return {
    capabilities: new Set(CAPABILITIES),
    namespace: arena.namespace,
    spareNamespace,
    resyncSeconds: ARENA_RESYNC_S,
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
      await arena.apply(object);
    },
    async patch(ref, patch) {
      await arena.patch(ref, patch);
    },
    delete: (ref) => arena.delete(ref),
    get: (ref) => arena.get(ref),
    list: (kind, namespace) => arena.list(kind, namespace),
    async waitFor(ref, what, holds, seconds = WITHIN_S) {
      let last: unknown;
      const look = async (): Promise<true | undefined> => {
        const object = await arena.get(ref);
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
    setHook: (mode) => arena.hook.setMode(mode),
    writes: async () =>
      arena.proxy.passed.filter((passed) => arena.proxy.isWrite(passed) && passed.path.includes(swarm)).length,
  };
}
