import type { FilePart, FileText } from '../file-reader.js';
import { ProblemError } from './problem.js';

/** Collects parts up to the limit of characters. */
export function createOutput(limit: number) {
  const parts: FilePart[] = [];
  let left = limit;
  let truncated = false;
  return {
    parts,
    /** @returns false when the limit is reached, and reading more is useless */
    add(label: string, text: string): boolean {
      const kept = text.length > left ? text.slice(0, left) : text;
      truncated ||= kept.length < text.length;
      left -= kept.length;
      parts.push({ label, text: kept });
      return left > 0;
    },
    stop() {
      truncated = true;
    },
    left: () => left,
    truncated: () => truncated,
  };
}

export type Output = ReturnType<typeof createOutput>;

/** @throws ProblemError for a file without any text */
export function textOf(
  output: Output,
  {
    what,
    notes = [],
    scanned = [],
    ...rest
  }: Pick<FileText, 'kind' | 'total'> & { what: string } & Partial<Pick<FileText, 'title' | 'notes' | 'scanned'>>,
): FileText {
  const blank = output.parts.every(({ text }) => text.trim() === '');
  if (blank && scanned.length === 0) throw new ProblemError('empty', `The ${what} has no text.`);
  const { title, ...counted } = rest;
  const named = title?.trim() ? { title: title.trim().slice(0, 500) } : {};
  return { ...counted, ...named, parts: output.parts, truncated: output.truncated(), scanned, notes };
}
