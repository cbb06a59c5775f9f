import type { HistoryMessage } from '@uswarm/runtime-proto';
import { attachedFiles, type FileOptions } from './attached-files.js';
import type { TurnRequestDeps } from './load-turn-request.js';
import { toHistory } from './turn-request.js';
import type { TurnRow } from '../turns.store.js';

/** Messages that steer a running turn, with their files, oldest first. */
export async function loadSteering(
  {
    database,
    turns,
    files: contents,
    transcripts,
  }: Pick<TurnRequestDeps, 'database' | 'turns' | 'files' | 'transcripts'>,
  turn: TurnRow,
  options: Omit<FileOptions, 'turn' | 'answered' | 'userId'>,
): Promise<HistoryMessage[]> {
  const rows = await turns.loadSteering(database, turn);
  if (rows.length === 0) return [];
  const answered = rows.map(({ id }) => id);
  const reading = { ...options, turn, answered, userId: turn.user_id };
  const { files } = await attachedFiles(rows.toReversed(), contents, transcripts, reading);
  return rows.map((row) => toHistory(row, files.get(row.id)));
}
