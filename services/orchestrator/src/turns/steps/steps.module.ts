import type { Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import { createListCursors } from '../../records/list-cursor.js';
import type { PlatformTool } from '../tools/platform-tool.js';
import { createJournalBodies, JOURNAL_OBJECT_JOB } from '../journal/journal-bodies.js';
import { createSafeMarkdown } from '../content/reply-text.js';
import { createContentObjects } from '../../records/content-objects.js';
import type { ObjectStore } from '../../records/object-store.js';
import { stepHandlers } from './steps.routes.js';
import { createStepService } from './steps.service.js';

export interface StepsModuleDeps {
  config: Pick<OrchestratorConfig, 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS' | 'PUBLIC_URL'>;
  requests: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  objects: ObjectStore;
  tools: readonly PlatformTool[];
  logger: Logger;
}

/** Short, because a user waits for the response. */
const RETRY_FOR_MS = 2_000;

export function createStepsModule({ config, requests, objects, tools, logger }: StepsModuleDeps) {
  const service = createStepService({
    database: requests.database,
    bodies: createJournalBodies({
      contents: createContentObjects({ ...requests, job: JOURNAL_OBJECT_JOB, objects }),
      logger,
      retryForMs: RETRY_FOR_MS,
    }),
    cursors: createListCursors('steps', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    markdown: createSafeMarkdown(config.PUBLIC_URL),
    ownTools: new Set(tools.filter((tool) => 'prepare' in tool && tool.effect === 'own').map(({ name }) => name)),
  });
  return { routes: stepHandlers(service), service };
}
