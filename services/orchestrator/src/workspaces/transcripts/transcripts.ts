import { setTimeout as sleep } from 'node:timers/promises';
import type { FileProblem, FileText } from '@uswarm/file-reader';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { EventLog } from '../../records/event-log.js';
import type { Transcripts } from '../../turns/request/attached-files.js';
import { showInMessages, TRANSCRIPTION_JOB } from './transcription-job.js';
import { findTranscript, requestTranscription, type TranscriptionProblem } from './transcriptions.store.js';

export interface TranscriptsDeps {
  database: Database;
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'enqueue'>;
  events: Pick<EventLog, 'append'>;
  /** False if no model is configured. */
  isConfigured: boolean;
  maxMinutes: number;
}

/** Another process may be transcribing. */
const POLL_MS = 250;

const GONE: FileProblem = { problem: 'corrupt', message: 'The file no longer exists.' };
const SILENT: FileProblem = { problem: 'empty', message: 'No speech was recognized in it.' };
const UNCONFIGURED: FileProblem = { problem: 'unsupported', message: 'Recordings are not transcribed here.' };

const textOf = (text: string): FileText => ({
  kind: 'text',
  parts: [{ label: '', text }],
  total: 1,
  truncated: false,
  scanned: [],
  notes: [],
});

/** Reads transcripts, and has recordings transcribed. */
export function createTranscripts(deps: TranscriptsDeps): Transcripts {
  const { database, withTransaction, jobs, events } = deps;
  const problems: Readonly<Record<TranscriptionProblem, FileProblem>> = {
    too_large: { problem: 'too_large', message: 'Only recordings of up to 25 MB can be transcribed.' },
    too_long: {
      problem: 'too_large',
      message: `Only recordings of up to ${deps.maxMinutes} minutes can be transcribed.`,
    },
    refused: {
      problem: 'unsupported',
      message: 'The speech recognition does not accept this recording or its format.',
    },
    limit: { problem: 'too_slow', message: 'It was not transcribed, because the token limit is reached.' },
    unavailable: { problem: 'too_slow', message: 'The speech recognition is not available at the moment.' },
  };
  /** Files whose messages show the transcript. */
  const shown = new Set<string>();

  /** A message that was sent while its file was transcribed can lack the transcript. */
  async function show(uploadId: string, text: string): Promise<void> {
    if (shown.has(uploadId)) return;
    await withTransaction((tx) => showInMessages(events, uploadId, text, tx));
    shown.add(uploadId);
  }

  const ask = (uploadId: string, turn: { id: string; workspace_id: string }): Promise<void> =>
    withTransaction(async (tx) => {
      if (await requestTranscription(tx, uploadId, turn.id))
        await jobs.enqueue({ kind: TRANSCRIPTION_JOB, subjectId: uploadId, workspaceId: turn.workspace_id }, tx);
    });

  return {
    async read({ id }, turn, signal) {
      let asked = false;
      for (;;) {
        signal.throwIfAborted();
        const known = await findTranscript(database, id);
        if (known === undefined) return GONE;
        if (known.text !== null) {
          await show(id, known.text);
          return known.text === '' ? SILENT : textOf(known.text);
        }
        if (!deps.isConfigured) return UNCONFIGURED;
        if (!known.waits && asked) return problems[known.problem ?? 'unavailable'];
        if (!asked) await ask(id, turn);
        asked = true;
        await sleep(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    },
  };
}
