import type { CollectedSpan } from '@uswarm/testkit';

/** Spans as an indented tree, in the order in which they began: the name, and the service without its prefix. */
export function traceTree(spans: readonly CollectedSpan[], parent = '', indent = ''): string {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .map(({ name, service, spanId, failed, attributes }) => {
      const line = `${indent}${name}`.padEnd(48);
      const end = failed ? ` (${attributes['error.type']})` : '';
      return `${line}${service.replace('uswarm-', '')}${end}\n${traceTree(spans, spanId, `${indent}  `)}`;
    })
    .join('');
}

/** The spans of the trace that has a span with this name; empty without one. */
export function traceOf(spans: readonly CollectedSpan[], name: string): CollectedSpan[] {
  const traceId = spans.findLast((span) => span.name === name)?.traceId;
  return spans.filter((span) => span.traceId === traceId);
}
