/** The sum of a metric's samples with these labels, in Prometheus' text format. */
export function sumOf(exposition: string, name: string, labels: Record<string, string> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return exposition
    .split('\n')
    .map((line) => /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/.exec(line))
    .filter((sample) => sample?.[1] === name && wanted.every((pair) => sample[2]?.includes(pair)))
    .reduce((sum, sample) => sum + Number(sample?.[3]), 0);
}
