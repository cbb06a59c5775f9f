import { randomUUID } from 'node:crypto';
import { silentLogger } from '@uswarm/service-kit';
import { createJournalBodies, type JournalBodies } from '../src/turns/journal/journal-bodies.js';

/** Stores large journal entries. @param use called before the object store is used; may throw */
export function createMemoryBodies(use: () => void = () => undefined): JournalBodies {
  const objects = new Map<string, string>();
  return createJournalBodies({
    contents: {
      async put(_owner, content) {
        use();
        const id = randomUUID();
        objects.set(id, content);
        return id;
      },
      async read(key) {
        use();
        return objects.get(key) ?? '';
      },
    },
    retryForMs: 500,
    logger: silentLogger,
  });
}
