import type { ReadPosition } from '../platform/http/routes.js';
import { type EpochSource, readHeadOfAgent, readHeads } from './positions.store.js';
import type { Database } from '../platform/database/database.js';

/** Returns the position as clients send it, `epoch:seq`. Does not check the owner: the handler does. */
export function createReadPosition(database: Database, epochs: EpochSource): ReadPosition {
  return async (of, id, db = database) => {
    const { epoch, heads } = of === 'agent' ? await readHeadOfAgent(db, epochs, id) : await readHeads(db, epochs, [id]);
    const [head] = heads;
    return head === undefined ? undefined : `${epoch}:${head.lastSeq}`;
  };
}
