import { ApiError, type TurnStepPage, type TurnSteps } from '@uswarm/contract';
import { fitting, jsonBytes } from '../../platform/http/bounded-list.js';
import type { ListCursorCodec } from '../../records/list-cursor.js';
import { type JournalBodies, JournalUnavailable } from '../journal/journal-bodies.js';
import { type Beginning, beginningOf, journalPart, type JournalPart } from './journal-parts.js';
import { hasEnded, isBehind, listSteps, type StepRules, type StepSources, turnView } from './step-list.js';
import {
  type StepRecords,
  type TimedEntry,
  type TurnChain,
  listTimedEntries,
  findTurnIdsOfChain,
  findStepRecords,
  findTurnChain,
  listTurnChains,
} from './steps.store.js';
import type { Database } from '../../platform/database/database.js';

export interface StepServiceDeps extends StepRules {
  database: Database;
  bodies: Pick<JournalBodies, 'read'>;
  cursors: ListCursorCodec;
}

export interface StepQuery {
  scrollId?: string | undefined;
  limit: number;
}

export interface StepService {
  /**
   * Oldest first, bounded by the response size.
   *
   * @throws ApiError `conversation_not_found`, `turn_not_found`, `cursor_invalid`
   */
  list(userId: string, place: { conversationId: string; turnId: string }, query: StepQuery): Promise<TurnStepPage>;
  all(conversationId: string): AsyncGenerator<TurnSteps>;
}

/** Bodies can be large, but only a small part is kept. */
const ENTRIES = 16;
const TURNS = 50;
/** Shared by one request's bodies in the object store. */
const BODIES_MS = 10_000;

export function createStepService({ database, bodies, cursors, ...rules }: StepServiceDeps): StepService {
  /** A body that cannot be read is shown as if it was no longer stored. */
  async function read(entry: TimedEntry, signal: AbortSignal): Promise<JournalPart | undefined> {
    const { number, kind, at } = entry;
    try {
      const [whole] = await bodies.read([entry], signal);
      return journalPart({ number, kind, at, body: whole?.body });
    } catch (error) {
      if (error instanceof JournalUnavailable || signal.aborted) return undefined;
      throw error;
    }
  }

  async function* partsOf(turnIds: readonly string[]): AsyncGenerator<JournalPart> {
    const signal = AbortSignal.timeout(BODIES_MS);
    for (let after = 0; ;) {
      const entries = await listTimedEntries(database, turnIds, after, ENTRIES);
      for (const entry of entries) {
        const part = await read(entry, signal);
        if (part !== undefined) yield part;
        after = entry.number;
      }
      if (entries.length < ENTRIES) return;
    }
  }

  /** @returns what a calling turn was told; undefined if its journal does not have it */
  async function toldTo(turnId: string, callId: string): Promise<Beginning | undefined> {
    for await (const part of partsOf(await findTurnIdsOfChain(database, turnId)))
      if (part.kind === 'result' && part.callId === callId) return part.text;
    return undefined;
  }

  async function sourcesOf(chain: TurnChain): Promise<StepSources> {
    const parts = [];
    for await (const part of partsOf(chain.turns.map(({ id }) => id))) parts.push(part);
    // Read after the journal, so that no call result is missed: it is in one of the two.
    const records = await findStepRecords(database, chain);
    return { chain, parts, records, taskResult: await resultOf(chain, records) };
  }

  /** @returns what the agent that gave the task was told; undefined without such an agent, or if it is not known yet */
  async function resultOf(chain: TurnChain, { owner }: StepRecords): Promise<Beginning | undefined> {
    if (owner === null || !hasEnded(chain)) return undefined;
    if (owner.result !== null) return beginningOf(owner.result);
    return owner.turn_id === null || owner.call_id === null ? undefined : await toldTo(owner.turn_id, owner.call_id);
  }

  return {
    async list(userId, { conversationId, turnId }, { scrollId, limit }) {
      const { owned, ...chain } = await findTurnChain(database, userId, conversationId, turnId);
      if (!owned) throw new ApiError('conversation_not_found');
      if (chain.turns.length === 0) throw new ApiError('turn_not_found');
      const scope = [userId, chain.turnId];
      const after = scrollId === undefined ? undefined : cursors.decode(scrollId, scope);
      const sources = await sourcesOf(chain);
      const rest = listSteps(sources, rules).filter(({ position }) => after === undefined || isBehind(position, after));
      const page = fitting(rest.slice(0, limit), ({ step }) => jsonBytes(step));
      const last = page.at(-1);
      const next = last === undefined || page.length === rest.length ? null : cursors.encode(last.position, scope);
      return {
        data: { ...turnView(conversationId, sources), steps: page.map(({ step }) => step) },
        pagination: { next_scroll_id: next, prev_scroll_id: null, has_next: next !== null, has_prev: false },
      };
    },

    async *all(conversationId) {
      for (let after: string | undefined; ;) {
        const chains = await listTurnChains(database, conversationId, after, TURNS);
        for (const chain of chains) {
          const sources = await sourcesOf(chain);
          const steps = listSteps(sources, rules).map(({ step }) => step);
          yield { ...turnView(conversationId, sources), steps };
        }
        after = chains.at(-1)?.turnId;
        if (after === undefined) return;
      }
    },
  };
}
