import type { Transaction } from '../../platform/database/database.js';
import type { NewMemory } from '../../records/memories.store.js';
import { recordTexts, storedMemory } from '../tools/record-texts.js';
import type { UntrustedContentStore } from '../tools/untrusted-content.store.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnStart } from './turn-writes.js';

/** Memories can contain text from others. */
const memoriesOf = ({ instance }: TurnStart): NewMemory[] => instance.context?.agentContext.memories ?? [];

export const readsUntrusted = (start: TurnStart): boolean => start.untrusted.length > 0 || memoriesOf(start).length > 0;

export async function recordUntrusted(
  store: Pick<UntrustedContentStore, 'add' | 'read' | 'wrote'>,
  turn: TurnRow,
  start: TurnStart,
  tx: Transaction,
): Promise<void> {
  if (!readsUntrusted(start)) return;
  await store.add(turn, start.untrusted, tx);
  await recordTexts(store, turn, { read: memoriesOf(start).map(storedMemory) }, tx);
}
