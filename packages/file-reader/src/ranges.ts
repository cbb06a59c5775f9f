type Range = readonly [first: number, last: number];

/** Numbers that a model asks for, from 1: `3`, `10-12`, `10-` or `3, 10-12`. @returns undefined if they are invalid */
export function parseRanges(value: string): Range[] | undefined {
  const ranges = value.split(',', 100).map((part): Range | undefined => {
    const match = /^\s*(\d{1,9})(?:\s*([-–])\s*(\d{1,9})?)?\s*$/.exec(part);
    if (match === null) return undefined;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[3] ?? Number.MAX_SAFE_INTEGER);
    return first >= 1 && last >= first ? [first, last] : undefined;
  });
  return ranges.includes(undefined) ? undefined : (ranges as Range[]);
}

export function inRanges(ranges: readonly Range[], number: number): boolean {
  return ranges.some(([first, last]) => number >= first && number <= last);
}
