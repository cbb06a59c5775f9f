import type { WorldText } from '../tasks/task.js';

/** A text as a task gives it: whole, or in numbered parts that are mostly alike. */
export function textOf({ text, parts }: WorldText, separator = '\n'): string {
  if (parts === undefined) return text ?? '';
  const { count, each, at, before } = parts;
  const numbered = Array.from({ length: count }, (_, index) => {
    const special = at[String(index + 1)];
    return (special ?? each).replaceAll('{n}', String(index + 1));
  });
  return [...(before === undefined ? [] : [before]), ...numbered].join(separator);
}
