import type { Clock, Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { createPruning, pruningRow } from '../../platform/jobs/pruning.js';
import { createContentRetention } from '../../records/content-objects.js';
import type { ObjectStore } from '../../records/object-store.js';
import { JOURNAL_OBJECT_JOB } from './journal-bodies.js';
import { hasJournalObject, pruneJournals } from './journal.store.js';

const JOURNAL_PRUNING_JOB = 'journal-pruning';
const DAY_MS = 24 * 3_600_000;

export interface JournalJobsDeps {
  config: Pick<OrchestratorConfig, 'JOURNALS_KEPT_DAYS'>;
  background: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  objects: Pick<ObjectStore, 'remove'>;
  clock: Clock;
  logger: Logger;
}

export function journalJobs({ config, background, objects, clock, logger }: JournalJobsDeps): JobDefinition[] {
  return [
    {
      type: JOURNAL_PRUNING_JOB,
      handle: createPruning({
        prune: (before, limit) => pruneJournals(background.database, before, limit),
        keepMs: config.JOURNALS_KEPT_DAYS * DAY_MS,
        removed: 'old entries of journals were removed',
        clock,
        logger,
      }),
      atStart: pruningRow(JOURNAL_PRUNING_JOB),
    },
    {
      type: JOURNAL_OBJECT_JOB,
      handle: createContentRetention({ ...background, hasObject: hasJournalObject, objects }),
    },
  ];
}
