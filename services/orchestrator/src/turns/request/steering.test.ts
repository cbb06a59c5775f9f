import { expect, it } from '@jest/globals';
import type { Database } from '../../platform/database/database.js';
import type { TurnRow } from '../turns.store.js';
import type { HistoryRow } from './history.store.js';
import type { StoredFile } from './message-to-text.js';
import { loadSteering } from './steering.js';

it('reads only the files of messages that the runtime does not have', async () => {
  const message = (id: string): HistoryRow => ({
    id,
    role: 'user',
    agent_id: null,
    text: 'See the file',
    attachments: [{ id: `file of ${id}`, name: 'a.txt', type: 'file', size: 1, mime_type: 'text/plain' }],
  });
  const read: string[] = [];
  const unused = (): never => {
    throw new Error('not used');
  };
  const deps = {
    database: {} as Database,
    turns: { loadSteering: async () => [message('known'), message('new')] },
    files: {
      text: async ({ id }: StoredFile) => {
        read.push(id);
        return { problem: 'corrupt' as const, message: 'It is damaged.' };
      },
      picture: unused,
      pages: unused,
    },
    transcripts: { read: unused },
  };
  const options = { images: true, window: 8_000, withinMs: 1_000, recordingsWithinMs: 1_000 };
  const signal = new AbortController().signal;
  const loaded = await loadSteering(deps, { user_id: 'u' } as TurnRow, new Set(['known']), { ...options, signal });
  expect({ ids: loaded.map(({ id }) => id), read }).toEqual({ ids: ['new'], read: ['file of new'] });
});
