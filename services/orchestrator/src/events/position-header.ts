import type { ReadPosition } from '../platform/http/routes.js';
import type { Epochs } from './epoch.js';
import { readHeadOfAgent, readHeads } from './positions.store.js';
import type { Database } from '../platform/database/database.js';

/** Returns the position as clients send it, `epoch:seq`. Does not check the owner: the handler does. */
export function createReadPosition(database: Database, epochs: Epochs): ReadPosition {
  return async (of, id, db = database) => {
    const { epoch, heads } = of === 'agent' ? await readHeadOfAgent(db, epochs, id) : await readHeads(db, epochs, [id]);
    const [head] = heads;
    return head === undefined ? undefined : `${epoch}:${head.lastSeq}`;
  };
}

/** As `createReadPosition`, on a standby. */
export function createStandbyPosition({ standby }: Pick<Epochs, 'standby'>) {
  return async (workspaceId: string, db: Database): Promise<string | undefined> => {
    const { epoch, heads } = await readHeads(db, standby, [workspaceId]);
    const [head] = heads;
    return head === undefined ? undefined : `${epoch}:${head.lastSeq}`;
  };
}
