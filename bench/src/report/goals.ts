/** The goal, what was measured, and whether the goal is met. */
export type Goal = [name: string, measured: string, met: boolean];

export const atMost = (name: string, measured: number, limit: number, unit = ''): Goal => [
  `${name} ≤ ${limit} ${unit}`.trimEnd(),
  `${measured.toFixed(1)} ${unit}`.trimEnd(),
  measured <= limit,
];

/** A Markdown table. */
export const goalTable = (goals: readonly Goal[]): string =>
  [
    '| goal | measured | met |',
    '| --- | ---: | --- |',
    ...goals.map(([name, measured, met]) => `| ${name} | ${measured} | ${met ? 'yes' : 'NO'} |`),
  ].join('\n');
