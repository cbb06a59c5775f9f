import type { Clock, Logger } from '@uswarm/service-kit';
import type { JobStore } from '../../platform/jobs/job-store.js';
import type { RuntimeClient } from '../../runtimes/runtime-client.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type { RuntimeStore } from '../../records/runtimes.store.js';
import type { CallRules } from '../tools/call-rules.js';
import type { FollowUps } from '../summaries/follow-ups.js';
import type { JournalBodies } from '../journal/journal-bodies.js';
import type { createLiveEvents } from '../reply/live-events.js';
import type { TurnRequestDeps } from '../request/load-turn-request.js';
import type { SafeMarkdown } from '../content/reply-text.js';
import type { TurnSignals } from '../turn-signals.js';
import type { TurnProgressStore } from '../reply/turn-progress.store.js';
import type { TurnWriterDeps } from '../writer/turn-writer-deps.js';
import type { TurnStore } from '../turns.store.js';

export interface TurnRunnerDeps extends Omit<TurnWriterDeps, 'followUp'>, TurnRequestDeps {
  turns: TurnWriterDeps['turns'] & TurnRequestDeps['turns'] & Pick<TurnStore, 'get' | 'getToRun' | 'stopRequested'>;
  jobs: TurnWriterDeps['jobs'] & Pick<JobStore, 'makeDueNow'>;
  /** What the user allows at the moment. */
  rules: CallRules;
  journal: TurnWriterDeps['journal'] & TurnRequestDeps['journal'];
  bodies: JournalBodies;
  markdown: SafeMarkdown;
  progress: TurnWriterDeps['progress'] & Pick<TurnProgressStore, 'find'>;
  receipts: TurnWriterDeps['receipts'] & TurnRequestDeps['receipts'] & Pick<ReceiptLog, 'recordOwn'>;
  runtimes: Pick<RuntimeStore, 'get'>;
  client: RuntimeClient;
  /** Enqueues the jobs that follow an answered turn. */
  followUps?: FollowUps | undefined;
  turnSignals: Pick<TurnSignals, 'watch'>;
  publish: Parameters<typeof createLiveEvents>[0];
  /** Milliseconds from the start of a turn to its deadline. Default: half an hour. */
  deadlineMs?: number;
  /** Milliseconds between two tool tokens of a turn. Default: well before they expire. */
  renewToolTokenMs?: number;
  /** Milliseconds between two renewals of the activity of a turn. Default: well before it no longer counts. */
  renewActivityMs?: number;
  /** Milliseconds before the first repetition of a request. */
  retryMs?: number;
  clock: Clock;
  logger: Logger;
}
