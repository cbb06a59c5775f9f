import { useMemo, useState } from 'react';
import { useNow } from '../screen/use-now.js';
import { timelineOf } from './rows.js';
import { useTurns } from './use-turns.js';

/** A turn's steps, and the steps of each opened task. */
export function useTimeline(conversationId: string, turnId: string) {
  const [expanded, setExpanded] = useState<readonly string[]>([]);
  const { turns, error } = useTurns(conversationId, turnId === '' ? [] : [turnId, ...expanded]);
  const turn = turns.get(turnId);
  const now = useNow(turn?.finished_at === null);
  const tasks = useMemo(() => new Map([...turns].filter(([id]) => expanded.includes(id))), [turns, expanded]);
  const timeline = useMemo(() => turn && timelineOf(turn, tasks, now), [turn, tasks, now]);
  const toggle = (id: string) =>
    setExpanded((known) => (known.includes(id) ? known.filter((each) => each !== id) : [...known, id]));
  return { turn, tasks, timeline, error, toggle };
}
