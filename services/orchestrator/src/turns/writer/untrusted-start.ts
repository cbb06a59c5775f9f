import type { Transaction } from '../../platform/database/database.js';
import type { NewMemory } from '../../records/memories.store.js';
import { recordTexts, storedMemory } from '../tools/record-texts.js';
import type * as untrustedContentRecords from '../tools/untrusted-content.store.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnStart } from './turn-writes.js';

/** Memories can contain text from others. */
const memoriesOf = ({ instance }: TurnStart): NewMemory[] => instance.context?.agentContext.memories ?? [];

export const readsUntrusted = (start: TurnStart): boolean => start.untrusted.length > 0 || memoriesOf(start).length > 0;

export async function recordUntrusted(
  untrusted: Pick<typeof untrustedContentRecords, 'addUntrustedSources' | 'recordReadTexts' | 'recordWrittenTexts'>,
  turn: TurnRow,
  start: TurnStart,
  tx: Transaction,
): Promise<void> {
  if (!readsUntrusted(start)) return;
  await untrusted.addUntrustedSources(tx, turn, start.untrusted);
  await recordTexts(untrusted, turn, { read: memoriesOf(start).map(storedMemory) }, tx);
}
