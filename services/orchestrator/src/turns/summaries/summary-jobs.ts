import { storable } from '@uswarm/service-kit';
import type { WithTransaction, Database } from '../../platform/database/database.js';
import type { JobQueue, LeasedJob } from '../../platform/jobs/job-queue.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import { titleOf } from '../../records/title.js';
import type { EventLog } from '../../records/event-log.js';
import type { Summarizer } from './summarizer.js';
import { usageLock } from '../../records/usage-lock.js';
import {
  type SummarizedMessage,
  findSummarizedConversation,
  findSummary,
  findLastExceeding,
  listSummarizedMessages,
  saveSummary,
} from './summaries.store.js';
import { hasGrown, wholeBytes } from '../request/summary-need.js';
import { setModelTitle } from '../../records/conversation-rows.js';

export interface SummaryJobDeps {
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'holds'>;
  database: Database;
  summarizer: Summarizer;
  events: Pick<EventLog, 'append'>;
}

/** Limit per model call. */
const MESSAGES = 200;
const MESSAGE_BYTES = 256 * 1024;
/** UTF-16 code units. Enforced here: a model may ignore the limit that it is given. */
const SUMMARY_LENGTH = 16_000;
/** A title is made from the first message and its answer. */
const TITLE_MESSAGES = 4;
/** A job ends after this many failures; the next turn enqueues another one. */
const FAILURES = 5;

const DONE: JobResult = { done: true };

/** The job subject is the conversation. */
export function createSummaryJobs({ withTransaction, jobs, database, summarizer, events }: SummaryJobDeps) {
  /** Summarizes the oldest messages that have no summary and are not sent whole. */
  async function summary(job: LeasedJob, signal: AbortSignal): Promise<JobResult> {
    const conversationId = job.subjectId;
    const conversation = await findSummarizedConversation(database, conversationId);
    if (conversation === undefined || job.failures >= FAILURES) return DONE;
    const room = await summarizer.room(conversation, signal);
    if (room === undefined) return DONE;
    const before = await findSummary(database, conversationId);
    const throughSeq = await findLastExceeding(database, conversationId, room.whole);
    const range = { afterSeq: before?.throughSeq ?? 0, throughSeq, limit: MESSAGES };
    const found = await listSummarizedMessages(database, conversationId, range);
    if (!hasGrown(found, room.whole)) return DONE;
    const messages = fitting(found, room.messageBytes);
    const { maxOutputTokens } = room;
    const input = { previous: before?.text ?? '', messages, maxOutputTokens };
    const written = await summarizer.write('summary', conversation, input, signal);
    const last = messages.at(-1);
    const text = storable(written?.text ?? '')
      .slice(0, SUMMARY_LENGTH)
      .trim();
    if (written === undefined || last === undefined) return DONE;
    await withTransaction(async (tx) => {
      // A deleted or edited message has cancelled the job: its text must not remain in a summary.
      if (await jobs.holds(job, tx)) {
        if (text !== '') await saveSummary(tx, conversationId, { text, throughSeq: last.seq });
      }
      await summarizer.record('summary', conversation, written, tx);
    });
    if (text === '') throw new Error('the runtime returned an empty summary');
    return last.seq < throughSeq ? { againInMs: 0 } : DONE;
  }

  async function title(job: LeasedJob, signal: AbortSignal): Promise<JobResult> {
    const conversationId = job.subjectId;
    const conversation = await findSummarizedConversation(database, conversationId);
    if (conversation === undefined || job.failures >= FAILURES) return DONE;
    const { workspaceId, titleSource } = conversation;
    if (titleSource === 'user' || titleSource === 'model') return DONE;
    const range = { afterSeq: 0, throughSeq: Number.MAX_SAFE_INTEGER, limit: TITLE_MESSAGES };
    const messages = fitting(await listSummarizedMessages(database, conversationId, range));
    const last = messages.at(-1);
    if (last === undefined) return DONE;
    const written = await summarizer.write('title', conversation, { previous: '', messages }, signal);
    if (written === undefined) return DONE;
    const text = titleOf(storable(written.text));
    await withTransaction(async (tx) => {
      if (text !== undefined && (await jobs.holds(job, tx, usageLock(conversation.userId)))) {
        await events.append({ workspaceId, type: 'conversation.updated', subjectId: conversationId }, tx);
        await setModelTitle(tx, conversationId, { text, seq: last.seq });
      }
      await summarizer.record('title', conversation, written, tx);
    });
    return DONE;
  }

  return { summary, title };
}

/** At least one. */
function fitting(messages: readonly SummarizedMessage[], maxBytes = MESSAGE_BYTES): SummarizedMessage[] {
  let bytes = 0;
  const end = messages.findIndex(({ text }, index) => {
    bytes += wholeBytes(text);
    return bytes > Math.min(maxBytes, MESSAGE_BYTES) && index > 0;
  });
  return end === -1 ? [...messages] : messages.slice(0, end);
}
