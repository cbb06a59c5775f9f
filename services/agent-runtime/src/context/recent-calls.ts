import type { CallRecord } from '@uswarm/runtime-proto';

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function describe({ tool, arguments: input, failed, sources }: CallRecord): string {
  const outcome = failed ? ' failed' : '';
  const found = sources.map(({ title, address }, index) => `  ${index + 1}. ${oneLine(`${title} ${address}`)}`);
  return [`- ${oneLine(`${tool} ${input}`)}${outcome}`, ...found].join('\n');
}

/** Tool calls in earlier turns, one per line, each with its sources. Empty if there are none. Pure. */
export const describeCalls = (calls: readonly CallRecord[]): string => calls.map(describe).join('\n');
