import type { CollectedSpan } from '@uswarm/testkit';

const ROW = 24;
const NAMES = 330;
const TIMES = 520;
const COLORS: Record<string, string> = {
  'uswarm-realtime-gateway': '#7c5cbf',
  'uswarm-orchestrator': '#2f6fdb',
  'uswarm-model-gateway': '#1d8a5f',
};

/** Depth first, children in the order in which they began. */
function rows(spans: readonly CollectedSpan[], parent = '', depth = 0): { span: CollectedSpan; depth: number }[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .flatMap((span) => [{ span, depth }, ...rows(spans, span.spanId, depth + 1)]);
}

/** A trace's spans as a timeline, in SVG. */
export function tracePicture(spans: readonly CollectedSpan[]): string {
  const from = Math.min(...spans.map(({ startedAt }) => startedAt));
  const until = Math.max(...spans.map(({ endedAt }) => endedAt));
  const x = (time: number): number => Math.round(NAMES + ((time - from) / (until - from)) * TIMES);
  const services = Object.entries(COLORS);
  const lines = rows(spans).map(({ span, depth }, index) => {
    const y = (index + 1) * ROW;
    const width = Math.max(2, x(span.endedAt) - x(span.startedAt));
    return [
      `<text x="${8 + depth * 14}" y="${y + 16}">${span.name}</text>`,
      `<rect x="${x(span.startedAt)}" y="${y + 4}" width="${width}" height="16" rx="3" fill="${COLORS[span.service] ?? '#888'}"/>`,
    ].join('');
  });
  const legend = services.map(
    ([service, color], index) =>
      `<rect x="${8 + index * 190}" y="6" width="12" height="12" rx="3" fill="${color}"/>` +
      `<text x="${26 + index * 190}" y="17">${service.replace('uswarm-', '')}</text>`,
  );
  const [width, height] = [NAMES + TIMES + 10, (lines.length + 1) * ROW + 8];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...legend,
    ...lines,
    '</svg>',
    '',
  ].join('\n');
}
