import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { insertWorkspaces } from '../../test/bulk-data.js';
import { first } from '../../test/test-orchestrator.js';
import { lockSearches, searchMessages } from './search.store.js';

/** A small alphabet of varied characters, which makes matches and near misses frequent. */
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

const folded = (value: string) => value.normalize('NFKC').toLowerCase().replaceAll('ς', 'σ').replaceAll('ß', 'ss');

describe('the search index', () => {
  let db: MigratedDatabase;
  let workspaceId: string;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    workspaceId = first(await insertWorkspaces(db.database, 1));
  });
  afterAll(() => db.close());

  /** Creates conversations with these texts, in this order. @returns their ids */
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

  it('returns the same messages as a full scan', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 12 }),
        fc.array(text, { maxLength: 6 }),
        query,
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('older' as const, 'newer' as const),
        async (texts, others, q, readFirst, pageDirection) => {
          const [id = ''] = await conversations(texts, others);
          const words = folded(q)
            .split(/\s+/u)
            .filter((word) => word !== '');
          const matching = texts.flatMap((said, index) =>
            words.every((word) => folded(said).includes(word)) ? [index + 1] : [],
          );
          const expected = pageDirection === 'older' ? matching.toReversed() : matching;
          const asked = await lockSearches(db.database, 'a user', q);
          expect(new Set(asked)).toEqual(new Set(words));
          expect(seqs(await searchMessages(db.database, id, asked, pageDirection, null, 100, readFirst))).toEqual(
            expected,
          );
          // Without a match, the edge is before all messages.
          const edge = expected[0] ?? (pageDirection === 'older' ? 0 : texts.length);
          expect(seqs(await searchMessages(db.database, id, asked, pageDirection, null, 1, readFirst))).toEqual(
            expected.slice(0, 1),
          );
          expect(seqs(await searchMessages(db.database, id, asked, pageDirection, edge, 100, readFirst))).toEqual(
            expected.slice(1),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it('indexes texts of the maximum length', async () => {
    const [id = ''] = await conversations([`${'中'.repeat(31_990)} needle`, 'x'.repeat(32_000), 'last']);
    expect(seqs(await searchMessages(db.database, id, ['needle'], 'older', null, 10))).toEqual([1]);
    expect(seqs(await searchMessages(db.database, id, ['xx'], 'older', null, 10))).toEqual([2]);
  });

  it('contains messages that are older than the index', async () => {
    const { rows } = await sql<{
      text: string | null;
    }>`SELECT search_text_of('{"type": "text", "text": "ＡＢＣ ÄÖ"}') AS text`.execute(db.database);
    expect(rows).toEqual([{ text: 'abc äö' }]);
  });
});
