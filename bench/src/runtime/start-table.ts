import type { StartFigures } from './measure-start.js';

/** The median of each metric. */
export function medians(rounds: readonly StartFigures[]): StartFigures {
  const median = (field: keyof StartFigures): number => {
    const values = rounds.map((each) => each[field]).toSorted((a, b) => a - b);
    // One middle value, or two for an even number of values.
    const middle = values.slice(Math.ceil(values.length / 2) - 1, Math.floor(values.length / 2) + 1);
    return middle.reduce((sum, each) => sum + each, 0) / middle.length;
  };
  return {
    listeningMs: median('listeningMs'),
    cpuMs: median('cpuMs'),
    residentMiB: median('residentMiB'),
    privateMiB: median('privateMiB'),
  };
}

/** A Markdown table that compares all rows with the first row. */
export function startTable(rows: readonly { name: string; figures: StartFigures }[]): string {
  const base = rows[0]?.figures;
  const lines = rows.map(({ name, figures: { listeningMs, cpuMs, residentMiB, privateMiB } }) => {
    const ratio = base === undefined ? 1 : listeningMs / base.listeningMs;
    const cells = [
      listeningMs.toFixed(0),
      ratio.toFixed(1),
      cpuMs.toFixed(0),
      residentMiB.toFixed(1),
      privateMiB.toFixed(1),
    ];
    return `| ${[name, ...cells].join(' | ')} |`;
  });
  return [
    '| start | listening, ms | × bare Node | CPU, ms | resident, MiB | private, MiB |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...lines,
  ].join('\n');
}
