import { RECORDING_BYTES } from '@uswarm/contract';
import { type Backoff, backoffDelay, type Logger, storable } from '@uswarm/service-kit';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import type { JobQueue, LeasedJob } from '../../platform/jobs/job-queue.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import type { EventLog } from '../../records/event-log.js';
import { showTranscript } from '../../records/message-rows.js';
import type { ObjectStore } from '../../records/object-store.js';
import type { ModelTokens } from '../../turns/model-calls/model-tokens.js';
import { transcriptPreview } from '../uploads/attachments.js';
import { saveTranscript } from '../uploads/uploads.store.js';
import type { TranscriptionClient, TranscriptionOutcome } from './transcription-client.js';
import type { TranscriptionMetrics } from './transcription-metrics.js';
import {
  beginTranscription,
  endTranscription,
  saveTranscriptionProblem,
  type TranscriptionAttempt,
  type TranscriptionProblem,
} from './transcriptions.store.js';

/** Job type that transcribes an upload. */
export const TRANSCRIPTION_JOB = 'transcription';

export interface TranscriptionJobDeps {
  database: Database;
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'holds' | 'complete'>;
  events: Pick<EventLog, 'append'>;
  objects: Pick<ObjectStore, 'open'>;
  client: Pick<TranscriptionClient, 'transcribe'>;
  modelTokens: ModelTokens;
  maxSeconds: number;
  metrics: TranscriptionMetrics;
  logger: Pick<Logger, 'info' | 'warn'>;
  backoff?: Backoff;
}

const ATTEMPTS = 5;
const BACKOFF: Backoff = { initialMs: 1_000, maxMs: 15_000 };
/** A turn waits for its recordings, so a provider that asks for more time is unavailable. */
const LONGEST_WAIT_MS = 60_000;
/** For a recording without a known length: a phone's recording has at least as many. */
const LEAST_BYTES_PER_SECOND = 2_000;
/** A longer text comes from a hostile server. */
export const MOST_CHARACTERS = 1_000_000;

/** Shows a transcript in all messages with the file. */
export async function showInMessages(
  events: Pick<EventLog, 'append'>,
  uploadId: string,
  transcript: string,
  tx: Transaction,
): Promise<void> {
  for (const { id, workspaceId } of await showTranscript(tx, uploadId, transcriptPreview(transcript)))
    await events.append({ workspaceId, type: 'message.updated', subjectId: id }, tx);
}

/**
 * Sends a recording to the model gateway and stores the transcript. The job makes it one call per file at a time, also
 * with several agents, messages and replicas; a killed process repeats a call whose answer it had not stored.
 */
export function createTranscriptionJob(deps: TranscriptionJobDeps) {
  const { database, withTransaction, jobs, objects, client, modelTokens, metrics, logger } = deps;

  const finish = (job: LeasedJob, write: (tx: Transaction) => Promise<void>): Promise<JobResult> =>
    withTransaction(async (tx) => {
      await write(tx);
      // A lost lease must not commit: another process is transcribing.
      if (!(await jobs.holds(job, tx))) throw new Error('the lease was lost');
      await jobs.complete(job, tx);
      return { done: true, isCompleted: true };
    });

  function problemOf({ size, seconds, attempt }: TranscriptionAttempt): TranscriptionProblem | undefined {
    if (attempt > ATTEMPTS) return 'unavailable';
    if (size > RECORDING_BYTES) return 'too_large';
    return (seconds ?? 0) > deps.maxSeconds ? 'too_long' : undefined;
  }

  async function send(attempt: TranscriptionAttempt, signal: AbortSignal): Promise<TranscriptionOutcome> {
    const { uploadId, mimeType, size, seconds, ...turn } = attempt;
    const token = await modelTokens({ ...turn, purpose: 'transcription' });
    const content = await objects.open(uploadId);
    try {
      return await client.transcribe(
        { token, mimeType, size, seconds: seconds ?? Math.ceil(size / LEAST_BYTES_PER_SECOND), content },
        signal,
      );
    } finally {
      content.destroy();
    }
  }

  return async (job: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const attempt = await beginTranscription(database, job.subjectId);
    if (attempt === undefined) return { done: true };
    const startedAt = performance.now();
    const known = problemOf(attempt);
    const outcome = known === undefined ? await send(attempt, signal) : { problem: known };
    const ms = Math.round(performance.now() - startedAt);
    if ('text' in outcome) {
      const text = storable(outcome.text).trim().slice(0, MOST_CHARACTERS).toWellFormed();
      const result = await finish(job, async (tx) => {
        if (await saveTranscript(tx, attempt.uploadId, text))
          await showInMessages(deps.events, attempt.uploadId, text, tx);
        await endTranscription(tx, attempt.uploadId);
      });
      metrics.ended(text === '' ? 'silent' : 'transcribed', ms / 1_000);
      logger.info({ upload: attempt.uploadId, ms }, 'recording transcribed');
      return result;
    }
    if ('retryAfterMs' in outcome && attempt.attempt < ATTEMPTS) {
      const { retryAfterMs } = outcome;
      if (retryAfterMs === undefined || retryAfterMs <= LONGEST_WAIT_MS) {
        metrics.ended('retried', ms / 1_000);
        return { againInMs: retryAfterMs ?? backoffDelay(deps.backoff ?? BACKOFF, attempt.attempt - 1) };
      }
    }
    const problem = 'problem' in outcome ? outcome.problem : 'unavailable';
    const result = await finish(job, (tx) => saveTranscriptionProblem(tx, attempt.uploadId, problem));
    metrics.ended(problem, ms / 1_000);
    logger.warn({ upload: attempt.uploadId, problem, ms }, 'a recording was not transcribed');
    return result;
  };
}
