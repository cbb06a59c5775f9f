import type { Transaction } from '../../platform/database/database.js';
import type { StoredText } from './platform-tool.js';
import type { ReadingTurn } from './untrusted-content.store.js';
import type * as untrustedContentRecords from './untrusted-content.store.js';
import type { UntrustedSource } from './untrusted-content.js';

export const storedMemory = ({ key }: { key: string }): StoredText => ({ kind: 'memory', key });

interface Texts {
  reads?: UntrustedSource | undefined;
  read?: readonly StoredText[] | undefined;
  wrote?: readonly StoredText[] | undefined;
}

/** Call it in the transaction after which the texts reach the runtime. */
export async function recordTexts(
  untrusted: Pick<typeof untrustedContentRecords, 'addUntrustedSources' | 'recordReadTexts' | 'recordWrittenTexts'>,
  turn: ReadingTurn,
  { reads, read = [], wrote = [] }: Texts,
  tx: Transaction,
): Promise<void> {
  await untrusted.addUntrustedSources(tx, turn, reads === undefined ? [] : [reads]);
  await untrusted.recordReadTexts(tx, turn, read);
  await untrusted.recordWrittenTexts(tx, turn, wrote);
}
