import type { PublishedRange } from './outbox.store.js';

/** Published events that are still in the outbox: their row was locked, or events before them wait. */
export interface PublishedRanges {
  /** Merges adjacent and overlapping ranges in a workspace. */
  add(ranges: readonly PublishedRange[]): void;
  has(workspaceId: string, seq: number): boolean;
  all(): PublishedRange[];
  /** Forgets these ranges, and all before them. */
  remove(ranges: readonly PublishedRange[]): void;
}

const latest = (a: Date, b: Date): Date => (a > b ? a : b);

/** Merges sorted ranges. Pure. */
function merged(ranges: readonly PublishedRange[]): PublishedRange[] {
  const result: PublishedRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.fromSeq - b.fromSeq)) {
    const last = result.at(-1);
    if (last === undefined || range.fromSeq > last.uptoSeq + 1) result.push({ ...range });
    else Object.assign(last, { uptoSeq: Math.max(last.uptoSeq, range.uptoSeq), at: latest(last.at, range.at) });
  }
  return result;
}

export function createPublishedRanges(): PublishedRanges {
  const ofWorkspaces = new Map<string, PublishedRange[]>();
  return {
    add(ranges) {
      for (const [workspaceId, added] of Map.groupBy(ranges, (range) => range.workspaceId)) {
        ofWorkspaces.set(workspaceId, merged([...(ofWorkspaces.get(workspaceId) ?? []), ...added]));
      }
    },
    has: (workspaceId, seq) =>
      ofWorkspaces.get(workspaceId)?.some(({ fromSeq, uptoSeq }) => fromSeq <= seq && seq <= uptoSeq) ?? false,
    all: () => [...ofWorkspaces.values()].flat(),
    remove(ranges) {
      for (const [workspaceId, removed] of Map.groupBy(ranges, (range) => range.workspaceId)) {
        const upto = Math.max(...removed.map(({ uptoSeq }) => uptoSeq));
        const rest = (ofWorkspaces.get(workspaceId) ?? []).filter(({ uptoSeq }) => uptoSeq > upto);
        if (rest.length === 0) ofWorkspaces.delete(workspaceId);
        else
          ofWorkspaces.set(
            workspaceId,
            rest.map((one) => ({ ...one, fromSeq: Math.max(one.fromSeq, upto + 1) })),
          );
      }
    },
  };
}
