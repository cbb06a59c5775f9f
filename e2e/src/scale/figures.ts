/** What a service's `/metrics` said at one moment. */
export interface Figures {
  /** The sum over all series of this name that have these labels; 0 where there is none. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

interface Series {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Reads the text format of Prometheus, as far as our own services write it. */
export function parseFigures(text: string): Figures {
  const series = text.split('\n').flatMap((line): Series[] => {
    const [, name, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return [];
    const pairs = [...labels.matchAll(/([a-zA-Z_]+)="([^"]*)"/g)].map(([, key = '', is = '']) => [key, is] as const);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
  return {
    sum: (name, wanted = {}) =>
      series
        .filter((one) => one.name === name && Object.entries(wanted).every(([key, is]) => one.labels[key] === is))
        .reduce((sum, { value }) => sum + value, 0),
  };
}
