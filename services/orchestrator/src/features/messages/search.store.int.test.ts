import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { fillWorkspaces } from '../../../test/fill.js';
import { first } from '../../../test/test-orchestrator.js';
import { createMessageSearchStore } from './search.store.js';

/** Few letters of many kinds, so that words are found often, and nearly found more often. */
const letters = fc.constantFrom(
  'a',
  'b',
  'B',
  '1',
  '_',
  '%',
  '\\',
  '中',
  '文',
  'م',
  '😀',
  '😁',
  'é',
  'ß',
  'Σ',
  'ς',
  'σ',
  ' ',
  '\n',
);
const text = fc.string({ unit: letters, minLength: 1, maxLength: 12 });
const query = fc.string({ unit: letters, minLength: 1, maxLength: 6 }).filter((q) => q.trim() !== '');

const folded = (value: string) => value.normalize('NFKC').toLowerCase().replaceAll('ς', 'σ');

describe('the index of texts', () => {
  let db: MigratedDatabase;
  let workspaceId: string;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    workspaceId = first(await fillWorkspaces(db.database, 1));
  });
  afterAll(() => db.close());

  /** Conversations with these texts, in this order. @returns their ids */
  const conversations = async (...all: string[][]) => {
    const ids = all.map(() => crypto.randomUUID());
    for (const [index, id] of ids.entries()) {
      await db.database.insertInto('conversations').values({ id, workspace_id: workspaceId, type: 'swarm' }).execute();
      for (const [seq, said] of (all[index] ?? []).entries()) {
        const row = { id: crypto.randomUUID(), workspace_id: workspaceId, conversation_id: id, seq: seq + 1 };
        const content = JSON.stringify({ type: 'text', text: said });
        await db.database
          .insertInto('messages')
          .values({ ...row, role: 'user', status: 'sent', content })
          .execute();
      }
    }
    return ids;
  };
  const seqs = (rows: { seq: number }[]) => rows.map(({ seq }) => seq);

  it('finds exactly what a look at every message finds, whatever is read without it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 12 }),
        fc.array(text, { maxLength: 6 }),
        query,
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('older' as const, 'newer' as const),
        async (texts, others, q, readFirst, walk) => {
          const [id = ''] = await conversations(texts, others);
          const store = createMessageSearchStore(db.database, readFirst);
          const words = folded(q)
            .split(/\s+/u)
            .filter((word) => word !== '');
          const matching = texts.flatMap((said, index) =>
            words.every((word) => folded(said).includes(word)) ? [index + 1] : [],
          );
          const expected = walk === 'older' ? matching.toReversed() : matching;
          const asked = await store.words(q);
          expect(new Set(asked)).toEqual(new Set(words));
          expect(seqs(await store.page(id, asked, walk, null, 100))).toEqual(expected);
          // With nothing found, the place before everything.
          const edge = expected[0] ?? (walk === 'older' ? 0 : texts.length);
          expect(seqs(await store.page(id, asked, walk, null, 1))).toEqual(expected.slice(0, 1));
          expect(seqs(await store.page(id, asked, walk, edge, 100))).toEqual(expected.slice(1));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('knows texts of the greatest length', async () => {
    const [id = ''] = await conversations([`${'中'.repeat(31_990)} needle`, 'x'.repeat(32_000), 'last']);
    const store = createMessageSearchStore(db.database, 1);
    expect(seqs(await store.page(id, ['needle'], 'older', null, 10))).toEqual([1]);
    expect(seqs(await store.page(id, ['xx'], 'older', null, 10))).toEqual([2]);
  });

  it('is there for messages that were written before it', async () => {
    const { rows } = await sql<{
      text: string | null;
    }>`SELECT search_text_of('{"type": "text", "text": "ＡＢＣ ÄÖ"}') AS text`.execute(db.database);
    expect(rows).toEqual([{ text: 'abc äö' }]);
  });
});
