import { describe, expect, it } from '@jest/globals';
import { createSecurityLog, createSourceName } from './security-log.js';

function setUp(kinds = 3) {
  const lines: Record<string, unknown>[] = [];
  let pending: (() => void) | undefined;
  const logger = { warn: (fields: object, msg: string) => void lines.push({ ...fields, msg }) };
  const log = createSecurityLog({
    logger: logger as never,
    kinds,
    after: (_ms, run) => {
      pending = run;
      return () => (pending = undefined);
    },
  });
  return { log, lines, pass: () => pending?.() };
}
const refusal = (source: string) => ({ what: 'credential', outcome: 'token_revoked', source });

describe('the security log', () => {
  it('logs the first refusal immediately and counts repetitions until the window has passed', () => {
    const { log, lines, pass } = setUp();
    for (let n = 0; n < 1_000; n += 1) log.refused(refusal('a'));
    expect(lines).toEqual([{ ...refusal('a'), msg: 'refused' }]);
    pass();
    expect(lines.slice(1)).toEqual([{ ...refusal('a'), repeated: 999, msg: 'refused repeatedly' }]);
  });

  it('logs the refusal again in the next window', () => {
    const { log, lines, pass } = setUp();
    log.refused(refusal('a'));
    pass();
    log.refused(refusal('a'));
    expect(lines.map(({ msg }) => msg)).toEqual(['refused', 'refused']);
  });

  it('limits the number of lines per window', () => {
    const { log, lines, pass } = setUp();
    for (let n = 0; n < 1_000; n += 1) log.refused(refusal(String(n)));
    pass();
    expect(lines).toHaveLength(4);
    expect(lines.at(-1)).toMatchObject({ repeated: 997 });
  });

  it('logs pending counts on close', () => {
    const { log, lines } = setUp();
    log.refused(refusal('a'));
    log.refused(refusal('a'));
    log.close();
    expect(lines.at(-1)).toMatchObject({ repeated: 1 });
  });
});

describe('the name of a source address', () => {
  it('returns the same hash for the same address and key, without revealing the address', () => {
    const [one, same, other] = ['k', 'k', 'l'].map((key) => createSourceName(key, 'hash')('192.0.2.7'));
    expect(one).toBe(same);
    expect(one).not.toBe(other);
    expect(one).toMatch(/^[\da-f]{16}$/);
  });

  it('returns the same hash after the cache was cleared', () => {
    const nameOf = createSourceName('k', 'hash');
    const first = nameOf('192.0.2.7');
    const others = new Set(Array.from({ length: 2_500 }, (_, n) => nameOf(`2001:db8::${n.toString(16)}`)));
    expect(others.size).toBe(2_500);
    expect(nameOf('192.0.2.7')).toBe(first);
  });

  it('returns the unchanged address with `plain`', () => {
    expect(createSourceName('k', 'plain')('192.0.2.7')).toBe('192.0.2.7');
  });
});
