import type { Clock, Logger } from '@uswarm/service-kit';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { RuntimeClient } from '../../runtimes/runtime-client.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type { CallRules } from '../tools/call-rules.js';
import type { FollowUps } from '../summaries/follow-ups.js';
import type { JournalBodies } from '../journal/journal-bodies.js';
import type { createLiveEvents } from '../reply/live-events.js';
import type { TurnRequestDeps } from '../request/load-turn-request.js';
import type { SafeMarkdown } from '../content/reply-text.js';
import type { TurnSignals } from '../turn-signals.js';
import type { TurnProgress } from '../reply/turn-progress.store.js';
import type { TurnWriterDeps } from '../writer/turn-writer-deps.js';
import type * as turnRecords from '../turns.store.js';
import type * as runtimeRecords from '../../records/runtimes.store.js';
import type { Database } from '../../platform/database/database.js';

export interface TurnRunnerDeps extends Omit<TurnWriterDeps, 'followUp'>, TurnRequestDeps {
  database: Database;
  turns: TurnWriterDeps['turns'] &
    TurnRequestDeps['turns'] &
    Pick<typeof turnRecords, 'getTurn' | 'getTurnToRun' | 'isStopRequested'>;
  jobs: TurnWriterDeps['jobs'] & Pick<JobQueue, 'makeDueNow'>;
  rules: CallRules;
  journal: TurnWriterDeps['journal'] & TurnRequestDeps['journal'];
  bodies: JournalBodies;
  markdown: SafeMarkdown;
  progress: TurnWriterDeps['progress'] & Pick<TurnProgress, 'find'>;
  receipts: TurnWriterDeps['receipts'] & TurnRequestDeps['receipts'] & Pick<ReceiptLog, 'recordOwn'>;
  runtimes: Pick<typeof runtimeRecords, 'getRuntime'>;
  client: RuntimeClient;
  followUps?: FollowUps | undefined;
  turnSignals: Pick<TurnSignals, 'watch'>;
  publish: Parameters<typeof createLiveEvents>[0];
  /** Counted from the turn's start. Default: half an hour. */
  deadlineMs?: number;
  /** Default: well before a tool token expires. */
  renewToolTokenMs?: number;
  /** Default: well before an activity expires. */
  renewActivityMs?: number;
  retryMs?: number;
  clock: Clock;
  logger: Logger;
}
