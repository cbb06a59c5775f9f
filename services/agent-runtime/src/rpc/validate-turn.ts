import { Code, ConnectError } from '@connectrpc/connect';
import {
  type Entry,
  type HistoryMessage,
  type RunTurnRequest,
  type SummarizeRequest,
  SummaryKind,
} from '@uswarm/runtime-proto';
import { MAX_TURN_JOURNAL_BYTES } from '@uswarm/service-kit';

/** 200 without the feature `long-history.1`. */
const MAX_HISTORY_MESSAGES = 1_000;
const MAX_HISTORY_BYTES = 512 * 1024;

function historyProblem(history: readonly HistoryMessage[]): string | undefined {
  if (history.length === 0) return 'history is empty';
  if (history.length > MAX_HISTORY_MESSAGES) return `history has more than ${MAX_HISTORY_MESSAGES} messages`;
  const bytes = history.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  return bytes > MAX_HISTORY_BYTES ? `history has more than ${MAX_HISTORY_BYTES} bytes of text` : undefined;
}

function journalProblem(journal: readonly Entry[]): string | undefined {
  if (journal.some(({ number }, index) => number !== index + 1)) return 'entries of the journal are missing';
  const bytes = journal.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  return bytes > MAX_TURN_JOURNAL_BYTES ? `journal has more than ${MAX_TURN_JOURNAL_BYTES} bytes` : undefined;
}

function problemOf({ turnId, generation, agent, history, journal }: RunTurnRequest): string | undefined {
  if (turnId === '') return 'turn_id is missing';
  if (generation === 0) return 'generation must be at least 1';
  if (agent === undefined || agent.id === '') return 'agent is missing';
  return historyProblem(history) ?? journalProblem(journal);
}

function reject(problem: string | undefined): void {
  if (problem !== undefined) throw new ConnectError(problem, Code.InvalidArgument);
}

/**
 * Validates a request that starts a turn. One that re-attaches requires only id and generation.
 * @throws ConnectError INVALID_ARGUMENT
 */
export function validateTurn(request: RunTurnRequest): void {
  const reattaches = request.fromEvent > 0n && request.turnId !== '' && request.generation > 0;
  reject(reattaches ? undefined : problemOf(request));
}

/** @throws ConnectError INVALID_ARGUMENT */
export function validateSummarize({ kind, history }: SummarizeRequest): void {
  reject(kind === SummaryKind.UNSPECIFIED ? 'kind is missing' : historyProblem(history));
}
