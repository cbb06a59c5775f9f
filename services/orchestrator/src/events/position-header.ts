import type { ReadPosition } from '../platform/http/routes.js';
import type { PositionStore } from './positions.store.js';

/** Returns the position as clients send it, `epoch:seq`. Does not check the owner: the handler does. */
export function createReadPosition(positions: Pick<PositionStore, 'heads' | 'headOfAgent'>): ReadPosition {
  return async (of, id, db) => {
    const { epoch, heads } = of === 'agent' ? await positions.headOfAgent(id, db) : await positions.heads([id], db);
    const [head] = heads;
    return head === undefined ? undefined : `${epoch}:${head.lastSeq}`;
  };
}
