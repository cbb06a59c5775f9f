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
  rules: CallRules;
  journal: TurnWriterDeps['journal'] & TurnRequestDeps['journal'];
  bodies: JournalBodies;
  markdown: SafeMarkdown;
  progress: TurnWriterDeps['progress'] & Pick<TurnProgressStore, 'find'>;
  receipts: TurnWriterDeps['receipts'] & TurnRequestDeps['receipts'] & Pick<ReceiptLog, 'recordOwn'>;
  runtimes: Pick<RuntimeStore, 'get'>;
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
