import { ROUTES, type RouteDefinition } from '@uswarm/contract';
import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { citedIds, loadLedger, parseResults, PREFIXES, serializeLedger } from './ledger.js';

const LEDGER = fileURLToPath(new URL('../../../../docs/requirements.json', import.meta.url));
const rows = await loadLedger(LEDGER);

const routes: readonly RouteDefinition[] = ROUTES;
const documented = routes.filter((route) => route.extension !== true);
const operations = documented.map((route) => route.operationId);

function count(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

describe('the requirement ledger', () => {
  it('has a fixed number of rows for each section of the two documents', () => {
    expect(count(rows.map((row) => row.spec))).toEqual({
      'orchestrator §1': 7,
      'orchestrator §2': 1,
      'orchestrator §2.1': 20,
      'orchestrator §2.2': 2,
      'orchestrator §2.3': 4,
      'orchestrator §2.4': 6,
      'orchestrator §2.5': 15,
      'orchestrator §2.6': 2,
      'orchestrator §2.7': 6,
      'orchestrator §2.8': 6,
      'orchestrator §2.9': 7,
      'orchestrator §2.10': 15,
      'orchestrator §2.11': 11,
      'orchestrator §2.12': 4,
      'orchestrator §3': 5,
      'orchestrator §4.1': 5,
      'orchestrator §4.2': 9,
      'orchestrator §4.3': 13,
      'orchestrator §4.4': 9,
      'orchestrator §4.5': 3,
      'orchestrator §4.6': 2,
      'orchestrator §5': 8,
      'orchestrator §6': 1,
      'orchestrator §6.1': 3,
      'orchestrator §6.2': 10,
      'orchestrator §7': 5,
      'orchestrator §8': 4,
      'orchestrator §9': 4,
      'supporting §1': 6,
      'supporting §2.1': 2,
      'supporting §2.2': 12,
      'supporting §2.3': 11,
      'supporting §2.4': 11,
      'supporting §3': 5,
      'supporting §4.1': 10,
      'supporting §4.2': 11,
      'supporting §7': 7,
      'supporting §8': 6,
    });
  });

  it('has unique ids, ordered by prefix as in the documents', () => {
    const order = (id: string) => {
      const [prefix = '', number] = id.split('-');
      return PREFIXES.findIndex((known) => known === prefix) * 1_000 + Number(number);
    };
    const positions = rows.map((row) => order(row.id));
    expect(positions).toEqual([...new Set(positions)].toSorted((a, b) => a - b));
  });

  it('has one REST row for each documented route', () => {
    const restRows = rows.filter((row) => row.id.startsWith('REST-')).slice(0, documented.length);
    const described = restRows.map(({ route, text }) => `${route}: ${text.split(/[\s,:]/, 2).join(' ')}`);
    expect(described.toSorted()).toEqual(
      documented.map(({ operationId, method, path }) => `${operationId}: ${method.toUpperCase()} ${path}`).toSorted(),
    );
  });

  it('names only documented operations, and only in rows that the mutation check can run', () => {
    const withRoute = rows.filter((row) => row.route !== undefined);
    expect(withRoute.filter((row) => !operations.includes(row.route ?? ''))).toEqual([]);
    expect(withRoute.filter((row) => row.suite !== 'int')).toEqual([]);
  });

  it('contains each requirement once', () => {
    const texts = count(rows.map((row) => row.text));
    expect(Object.entries(texts).filter(([, times]) => times > 1)).toEqual([]);
  });

  it('is formatted as the report writes it', async () => {
    expect(await readFile(LEDGER, 'utf8')).toBe(serializeLedger(rows));
  });
});

describe('citedIds', () => {
  it('returns each id in a test name once', () => {
    expect(citedIds('REST-001 RES-002: health (REST-001) is public')).toEqual(['REST-001', 'RES-002']);
  });

  it('ignores other text', () => {
    expect(citedIds('signs with SHA-256, not REST-1, XREST-001 or REST-0011')).toEqual([]);
  });
});

describe('parseResults', () => {
  it('returns all suites that ran, including those whose tests name no row', () => {
    const proof = {
      id: 'RT-001',
      test: 'RT-001 x',
      status: 'passed',
      suite: 'int',
      file: 'a.int.test.ts',
    };
    const jsonl = [{ suite: 'int', tests: 1 }, proof, { suite: 'unit', tests: 4 }]
      .map((record) => JSON.stringify(record))
      .join('\n');
    expect(parseResults(`${jsonl}\n`)).toEqual({ proofs: [proof], suites: ['unit', 'int'] });
  });

  it('rejects an invalid line', () => {
    expect(() => parseResults('{"id":"RT-001"}\n')).toThrow();
  });
});
