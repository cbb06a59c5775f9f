import { describe, expect, it } from '@jest/globals';
import type { ToolResult } from '@uswarm/mcp-client';
import fc from 'fast-check';
import { callRecord } from './sources.js';

const recordOf = (result: Partial<ToolResult>, input: Record<string, unknown> = {}) => {
  const { sources, ...record } = callRecord('search', input, { text: '', failed: false, ...result });
  return { ...record, sources: sources.map(({ title, address }) => ({ title, address })) };
};
const sourcesOf = (result: Partial<ToolResult>) => recordOf(result).sources;

describe('the record of a tool call', () => {
  it('has the addresses and titles of a structured result, in their order and once', () => {
    const results = [
      { title: 'First', url: 'https://a.example/' },
      { title: 'Second', url: 'https://b.example/', more: { name: 'Third', link: 'https://c.example/' } },
      { title: 'First again', url: 'https://a.example/' },
    ];
    expect(sourcesOf({ text: JSON.stringify({ status: 'ok', results }) })).toEqual([
      { title: 'First', address: 'https://a.example/' },
      { title: 'Second', address: 'https://b.example/' },
      { title: 'Third', address: 'https://c.example/' },
    ]);
  });

  it('has the addresses in a text', () => {
    expect(sourcesOf({ text: 'See https://a.example/x (or <http://b.example>), not ftp://c.example.' })).toEqual([
      { title: '', address: 'https://a.example/x' },
      { title: '', address: 'http://b.example' },
    ]);
  });

  it('has the links of a result', () => {
    const parts = [{ type: 'link' as const, uri: 'https://a.example/', name: 'A' }];
    expect(sourcesOf({ text: 'A', parts })).toEqual([{ title: 'A', address: 'https://a.example/' }]);
  });

  it('has no sources of a failed call', () => {
    const { failed, sources } = recordOf({ text: 'https://a.example/', failed: true });
    expect({ failed, sources }).toEqual({ failed: true, sources: [] });
  });

  it('never exceeds 4 KiB, and omits addresses that are too long instead of cutting them', () => {
    const address = fc.webUrl({ withQueryParameters: true, size: 'large' });
    fc.assert(
      fc.property(fc.array(fc.tuple(address, fc.string({ unit: 'binary' }))), fc.object(), (list, input) => {
        const results = list.map(([url, title]) => ({ url, title }));
        const { $typeName: _, ...record } = recordOf(
          { text: JSON.stringify(results) },
          input as Record<string, unknown>,
        );
        expect(Buffer.byteLength(JSON.stringify(record))).toBeLessThanOrEqual(4 * 1024);
        for (const { address: kept } of record.sources) expect(list.map(([url]) => url)).toContain(kept);
      }),
    );
  });
});
