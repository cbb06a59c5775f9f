import { diffLines } from 'diff';

export interface DiffLine {
  kind: 'same' | 'added' | 'removed' | 'skipped';
  text: string;
}
/** Unchanged lines around a change. */
const CONTEXT = 3;

/** Leaves out long unchanged parts. @returns undefined if computing the difference takes longer than `timeout` ms */
export function diffOf(before: string, after: string, timeout = 500): DiffLine[] | undefined {
  const parts = diffLines(before, after, { timeout });
  return parts?.flatMap(({ value, added, removed }, at): DiffLine[] => {
    const lines = value.replace(/\n$/, '').split('\n');
    if (added || removed) return lines.map((text) => ({ kind: added ? 'added' : 'removed', text }));
    const [head, tail] = [at === 0 ? 0 : CONTEXT, at === parts.length - 1 ? 0 : CONTEXT];
    const same = lines.map((text): DiffLine => ({ kind: 'same', text }));
    const hidden = lines.length - head - tail;
    if (hidden <= 1) return same;
    const note = { kind: 'skipped', text: `${hidden} unchanged lines` } as const;
    return [...same.slice(0, head), note, ...same.slice(lines.length - tail)];
  });
}
