import type { Client } from '@uswarm/client';
import { useEffect, useState } from 'react';
import { useClient } from '../session/use-client.js';
import type { TurnSteps } from './rows.js';

/** Milliseconds between two reads of a running turn. */
const PAUSE_MS = 1_000;
const ENDED: readonly string[] = ['completed', 'failed', 'stopped'];

async function load(client: Client, conversationId: string, turnId: string, signal: AbortSignal): Promise<TurnSteps> {
  const read = (scrollId?: string) =>
    client.api.get('/v1/conversations/{conversationId}/turns/{turnId}/steps', {
      path: { conversationId, turnId },
      query: { limit: 100, ...(scrollId !== undefined && { scrollId }) },
      signal,
    });
  const first = await read();
  const steps = [...first.data.steps];
  for (let { next_scroll_id: next } = first.pagination; next !== null;) {
    const page = await read(next);
    steps.push(...page.data.steps);
    next = page.pagination.next_scroll_id;
  }
  return { ...first.data, steps };
}

/** Turns with all their steps, by id. Running turns are read again when something happens. */
export function useTurns(conversationId: string, turnIds: readonly string[]) {
  const client = useClient();
  const [turns, setTurns] = useState<ReadonlyMap<string, TurnSteps>>(new Map());
  const [error, setError] = useState<Error>();
  const key = turnIds.join();
  useEffect(() => {
    const ending = new AbortController();
    const ended = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    async function read(): Promise<void> {
      for (const id of key.split(',').filter((each) => each !== '' && !ended.has(each))) {
        const turn = await load(client, conversationId, id, ending.signal);
        if (ENDED.includes(turn.status)) ended.add(id);
        setTurns((known) => new Map(known).set(id, turn));
      }
      setError(undefined);
    }
    const readAll = () => void read().catch((reason: Error) => ending.signal.aborted || setError(reason));
    readAll();
    const off = client.on('*', () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        readAll();
      }, PAUSE_MS);
    });
    return () => {
      off();
      clearTimeout(timer);
      ending.abort();
    };
  }, [client, conversationId, key]);
  return { turns, error };
}
