import type { HistoryMessage } from '@uswarm/runtime-proto';
import type { Database } from '../../platform/database/database.js';
import { attachedFiles, type FileContents, type FileOptions, type Transcripts } from './attached-files.js';
import { toHistory } from './turn-request.js';
import type * as turnRecords from '../turns.store.js';
import type { TurnRow } from '../turns.store.js';

export interface SteeringDeps {
  database: Database;
  turns: Pick<typeof turnRecords, 'loadSteering'>;
  files: FileContents;
  transcripts: Transcripts;
}

/**
 * New messages that steer a running turn, with their files, oldest first.
 *
 * @param known message ids that the runtime has
 */
export async function loadSteering(
  { database, turns, files: contents, transcripts }: SteeringDeps,
  turn: TurnRow,
  known: ReadonlySet<string>,
  options: Omit<FileOptions, 'turn' | 'answered' | 'userId'>,
): Promise<HistoryMessage[]> {
  const rows = (await turns.loadSteering(database, turn)).filter(({ id }) => !known.has(id));
  if (rows.length === 0) return [];
  const answered = rows.map(({ id }) => id);
  const reading = { ...options, turn, answered, userId: turn.user_id };
  const { files } = await attachedFiles(rows.toReversed(), contents, transcripts, reading);
  return rows.map((row) => toHistory(row, files.get(row.id)));
}
