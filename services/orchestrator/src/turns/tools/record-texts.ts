import type { Transaction } from '../../platform/database/database.js';
import type { StoredText } from './platform-tool.js';
import type { ReadingTurn, UntrustedContentStore } from './untrusted-content.store.js';
import type { UntrustedSource } from './untrusted-content.js';

export const storedMemory = ({ key }: { key: string }): StoredText => ({ kind: 'memory', key });

interface Texts {
  reads?: UntrustedSource | undefined;
  read?: readonly StoredText[] | undefined;
  wrote?: readonly StoredText[] | undefined;
}

/** Call it in the transaction after which the texts reach the runtime. */
export async function recordTexts(
  store: Pick<UntrustedContentStore, 'add' | 'read' | 'wrote'>,
  turn: ReadingTurn,
  { reads, read = [], wrote = [] }: Texts,
  tx: Transaction,
): Promise<void> {
  await store.add(turn, reads === undefined ? [] : [reads], tx);
  await store.read(turn, read, tx);
  await store.wrote(turn, wrote, tx);
}
